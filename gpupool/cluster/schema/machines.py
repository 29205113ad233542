"""The machines: the cluster as a whole, GPU types, hardware shapes and nodes."""

from typing import Annotated, Literal

from pydantic import Field

from gpupool.cluster.schema.base import Count, Domain, Fact, Flag, Name, Nodes, VariableName, Word
from gpupool.cluster.words import Duration, Size

Role = Literal[
    "head", "controller", "backup-controller", "database", "compute", "fileserver", "web", "gateway", "isolated"
]
Address = Annotated[
    str, Field(strict=True, description="IPv4 address, or a range as long as the name's: 10.66.1.[1-4]")
]


class Totals(Fact):
    """What the whole must add up to; checked, never used."""

    gpus: Count | None = None
    cpus: Count | None = None


class ClusterEntry(Fact):
    """The cluster's name and place."""

    name: Annotated[str, Field(strict=True, pattern=r"^[a-z][a-z0-9_-]*$", description="Slurm's ClusterName.")]
    domain: Domain | None = Field(None, description="Joined to each node's name, unless node_names is fqdn.")
    node_names: Literal["short", "fqdn"] = Field("short", description="What Slurm calls a node.")
    network: Word = Field(description="The network that holds every node's address, such as 10.66.0.0/16.")
    timezone: Word = "Etc/UTC"
    guide: Word | None = Field(None, description="The user guide that `src` refers to.")
    totals: Totals | None = None


class GpuType(Fact):
    """A GPU type; its key is Slurm's gres type and node feature alike."""

    models: tuple[Word, ...]
    memory: Size | None = Field(None, description="Memory of one GPU.")
    min_cuda: Word | None = None


class Hardware(Fact):
    """A named shape of machine."""

    cpus: Count = Field(description="Logical CPUs as Slurm shall count them.")
    memory: Size = Field(description="Nominal memory; Slurm gets it less slurm.memory_reserve.")
    gpu_slots: Count = 0
    cpus_kept_per_gpu: Count = Field(
        0, description="CPUs beside each GPU that only a job on this GPU gets, so that it can always be used."
    )


class Elastic(Fact):
    """A node that is started when a job needs it."""

    driver: Literal["gcp", "docker"]
    idle_after: Duration = 300
    boot_timeout: Duration = 300
    shutdown_timeout: Duration = 120


class NodeEntry(Fact):
    """One node, or a range of nodes that are alike."""

    name: Nodes
    address: Address | None = None
    domain: Domain | None = Field(None, description="Where it differs from the cluster's.")
    roles: tuple[Role, ...] = Field(min_length=1)
    hardware: Name | None = None
    gpus: dict[Name, Count] = Field(default_factory=dict)
    features: tuple[Name, ...] = ()
    managed: Flag = Field(True, description="False: gpupool knows it by name and address, and never logs in there.")
    elastic: Elastic | None = None
    model: Word | None = None
    capacity: Size | None = Field(None, description="What a fileserver can hold.")
    media: Literal["hdd", "ssd", "nvme"] | None = None
    profile: Word | None = None


class Gpu(Fact):
    """How GPUs are handed to jobs."""

    constrain_devices: Flag = Field(True, description="A job can open its own GPUs only.")
    driver: Literal["nvidia", "fake"] = Field(
        "nvidia", description="fake: device files without a driver, for testbeds."
    )
    device_env: tuple[VariableName, ...] = Field((), description="Job variables that get the UUIDs of the job's GPUs.")
