"""The overlay for testbeds: it changes drivers and scale, never names, partitions or QoS."""

from pydantic import Field

from gpupool.cluster.schema.base import Fact, Name, Nodes, Word
from gpupool.cluster.words import Duration, Size


class Testbed(Fact):
    """Which nodes are started as containers, and what is made quicker there."""

    __test__ = False  # pytest would take the name for a test class

    nodes: Nodes = Field(description="The others are rendered and checked, not started.")
    # below 10: jobs that leave 10 to 30 s after their signal keep their GPUs for up to 10 s more (docs/preemption.md)
    grace: Duration = Field(8, description="Grace time of preemptable partitions there.")
    requeue_delay: Duration = Field(5, description="As preemption.requeue_delay.")
    controller_timeout: Duration = Field(20, description="As slurm.controller_timeout.")
    disks: dict[Name, tuple[Size, ...]] = Field(
        default_factory=dict,
        description="Of virtual machines: /dev/disk/by-id/virtio-<NODE>-1, ….",
    )
    threads: dict[Name, int] = Field(
        default_factory=dict, description="CPUs on each core of a virtual machine; 1 for those not named."
    )
    network: Word | None = Field(None, description="Where the cluster's own network cannot be used here.")
