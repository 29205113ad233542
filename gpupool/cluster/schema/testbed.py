"""The overlay for testbeds: it changes drivers and scale, but never names, partitions or QoS."""

from pydantic import Field

from gpupool.cluster.schema.base import Name, Nodes, SourcedEntry, Word
from gpupool.cluster.units import Duration, Size


class Testbed(SourcedEntry):
    """The nodes that are started as containers, and shorter times for the testbed."""

    __test__ = False  # pytest would take the name for a test class

    nodes: Nodes = Field(
        description="Nodes to start; the others are only checked and rendered. Roles set up nodes with "
        "`managed: false`, too."
    )
    # below 10: a job that ends 10 to 30 s after its signal keeps its GPUs for up to 10 s more (docs/preemption.md)
    grace: Duration = Field(8, description="Grace time of preemptable partitions in the testbed.")
    requeue_delay: Duration = Field(5, description="Replaces preemption.requeue_delay.")
    controller_timeout: Duration = Field(20, description="Replaces slurm.controller_timeout.")
    idle_after: Duration = Field(30, description="Replaces cloud.idle_after.")
    boot_timeout: Duration = Field(90, description="Replaces cloud.boot_timeout.")
    shutdown_timeout: Duration = Field(20, description="Replaces cloud.shutdown_timeout.")
    disks: dict[Name, tuple[Size, ...]] = Field(
        default_factory=dict,
        description="Disks of virtual machines, by node: /dev/disk/by-id/virtio-<NODE>-1, ….",
    )
    threads: dict[Name, int] = Field(
        default_factory=dict, description="Threads per core of virtual machines, by node; default: 1."
    )
    singularity_suite: Word | None = Field(
        None,
        description="Suite of Debian, such as sid, from which the nodes' images install Singularity, in place of the "
        "package or repository of software.singularity.",
    )
    network: Word | None = Field(
        None, description="Network of the testbed, if this machine cannot use the cluster's network."
    )
