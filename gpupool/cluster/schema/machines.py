"""The cluster as a whole, GPU types, hardware and nodes."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from gpupool.cluster.schema.base import (
    Count,
    CudaVersion,
    Domain,
    Entry,
    Flag,
    Label,
    Name,
    NetworkName,
    NodeNames,
    OnNode,
    PlainPath,
    Several,
    SourcedEntry,
    VariableName,
    Word,
    spelt,
)
from gpupool.cluster.schema.managed import Manage
from gpupool.cluster.schema.parameters import Parameters
from gpupool.cluster.schema.systems import NodeSystem
from gpupool.cluster.units import Duration, Size, SlurmMemory

MigProfile = Annotated[
    str, spelt(r"^[1-7]g\.[0-9]{1,3}gb([+-](me|gfx)(\.all)?)?$", "write a profile as nvidia-smi prints it: 1g.10gb")
]
# one device file of a GPU, or several with commas between them
DeviceFiles = Annotated[
    str,
    spelt(
        r"^/dev(/[A-Za-z0-9_][A-Za-z0-9_-]*)+(,/dev(/[A-Za-z0-9_][A-Za-z0-9_-]*)+)*$",
        "write the files of a device, with commas between them: /dev/nvidia0",
    ),
]
GresName = Annotated[str, spelt(r"^[a-z][a-z0-9_-]*$", "a resource has small letters, digits, _ and -", max_length=30)]
# slurmctld adds its own weights, which begin at 2^31
Weight = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]

Role = Literal[
    "head", "controller", "backup-controller", "database", "compute", "fileserver", "web", "gateway", "isolated"
]
Address = Annotated[
    str, Field(strict=True, description="IPv4 address, or a range as long as the range of names: 10.66.1.[1-4]")
]
HostNames = Annotated[str, Field(strict=True, min_length=1, description="A host name, or a range of them: d[1-4].")]

# Libcloud's name of a provider, or module and class of a driver that Python finds on the controllers
Provider = Annotated[
    str,
    spelt(r"^[a-z][a-z0-9_]*$|^[a-z][a-z0-9_.]*:[A-Za-z][A-Za-z0-9_]*$", "write gce, openstack, ec2, or module:Class"),
]


class Totals(SourcedEntry):
    """Totals of the whole cluster; used only to check the inventory."""

    gpus: Count | None = Field(None, description="GPUs of all compute nodes.")
    cpus: Count | None = Field(None, description="Logical CPUs of all compute nodes.")


class ClusterEntry(SourcedEntry):
    """The cluster's name, network and location."""

    name: Annotated[
        str,
        spelt(
            r"^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$",
            "a cluster's name has small letters, digits, _, - and single dots, and begins with a letter",
            description="Slurm's ClusterName.",
        ),
    ]
    domain: Domain | None = Field(None, description="Appended to each node's name, unless node_names is fqdn.")
    node_names: Literal["short", "fqdn"] = Field("short", description="The form of node names in Slurm.")
    network: Word = Field(description="The network of each node's `address`, such as 10.66.0.0/16.")
    networks: dict[NetworkName, Word] = Field(
        default_factory=dict,
        description=(
            "Further networks by name, for `addresses` of nodes. Slurm, an export and gpupool's SSH use one of them if "
            "slurm.network, storage.exports.network or access.admin.network names it."
        ),
    )
    timezone: Word = Field("Etc/UTC", description="Time zone of all nodes, such as Europe/Berlin.")
    guide: Word | None = Field(None, description="The user guide that `src` refers to.")
    manage: Manage | None = Field(
        None,
        description=(
            "The roles that gpupool manages; it leaves all others alone on every node: it neither runs, plans, "
            "verifies nor removes them. Default: all."
        ),
    )
    totals: Totals | None = Field(None, description="Totals over all compute nodes, to find typing errors.")


class Mig(Entry):
    """The GPU type that a MIG slice is a part of, and the slice's profile."""

    of: Name = Field(description="The GPU type that is divided.")
    profile: MigProfile = Field(description="A profile of `nvidia-smi mig -lgip`, such as 1g.5gb.")


class GpuType(SourcedEntry):
    """A GPU type; its key is both Slurm's gres type and the node feature."""

    models: tuple[Word, ...] = Field(description="NVIDIA's (or the vendor's) names of the models.")
    vendor: Literal["nvidia", "amd", "intel"] = Field("nvidia", description="Determines the names of device files.")
    mig: Mig | None = Field(None, description="Set if the type is a MIG slice; `gpus` of nodes then counts slices.")
    autodetect: Literal["nvml", "nvidia", "rsmi", "oneapi"] | None = Field(
        None,
        description=(
            "The library with which slurmd finds the device files of these GPUs (AutoDetect of gres.conf); "
            "default: gpupool writes their paths to gres.conf."
        ),
    )
    memory: Size | None = Field(None, description="Memory of one GPU.")
    min_cuda: CudaVersion | None = Field(None, description="The oldest CUDA version that users' programs for it need.")


class LocalDisk(Entry):
    """A node's disk for jobs; as text, its nominal size."""

    path: PlainPath | None = Field(
        None, description="Mount point, which slurmd measures (TmpFS): the same on all nodes. Slurm's default: /tmp."
    )
    size: Size | None = Field(
        None, description="Nominal size. TmpDisk is this less slurm.disk_reserve, unless real_size is set."
    )
    real_size: SlurmMemory | None = Field(
        None, description="TmpDisk in slurm.conf, as `slurmd -C` prints it: 5800000M."
    )

    def slurm_size(self, reserve: str) -> int | None:
        """Return TmpDisk in MiB: `real_size`, else the nominal size less slurm.disk_reserve (`12%`)."""
        if self.real_size is not None or self.size is None:
            return self.real_size
        return self.size * (100 - int(reserve.rstrip("%"))) // 100


def _sized(value: Any) -> Any:
    return {"size": value} if isinstance(value, str) else value


# The keys that both an entry of `hardware` and a node may have
Sockets = Annotated[Several | None, Field(description="Sockets of a node; default: 1 if `cores` is set.")]
Cores = Annotated[
    Several | None, Field(description="Cores per socket; cpus must be sockets times cores times threads.")
]
Threads = Annotated[Several | None, Field(description="Threads per core; default: 1 if `cores` is set.")]
Memory = Annotated[
    Size | None,
    Field(description="Nominal memory. RealMemory is this less slurm.memory_reserve, unless real_memory is set."),
]
RealMemory = Annotated[
    SlurmMemory | None,
    Field(description="RealMemory in slurm.conf, as `slurmd -C` prints it on the node, in MiB: 515283."),
]
JobDisk = Annotated[
    Annotated[LocalDisk, BeforeValidator(_sized, json_schema_input_type=LocalDisk | str)] | None,
    Field(description="A node's disk for jobs, which they request with `--tmp`: its nominal size, or a mapping."),
]
Arch = Annotated[
    Literal["x86_64", "aarch64", "ppc64le"] | None,
    Field(description="Processor architecture, also a feature for `--constraint`; packages are by default x86_64's."),
]
NodeWeight = Annotated[
    Weight | None, Field(description="Nodes with a lower weight are used first; Slurm's default: 1.")
]
_NVSWITCH = "NVSwitch connects the GPUs (HGX, DGX): their driver comes with the fabric manager."
_CPUS_KEPT = "CPUs per GPU that only jobs on this GPU get (RestrictedCoresPerGPU)."
_CORES_KEPT = "Cores of a node reserved for the system and its daemons (CoreSpecCount)."
_MEMORY_KEPT = "Memory of a node reserved for the system (MemSpecLimit)."


def logical_cpus(sockets: int | None, cores: int, threads: int | None) -> int:
    """Return the logical CPUs of a node: sockets times cores per socket times threads per core."""
    return (sockets or 1) * cores * (threads or 1)


#: Keys that say how many CPUs a node has: one of them is enough.
COUNT_CPUS = ("cpus", "cores")


def _required_unless(schema: dict[str, Any], key: str, others: tuple[str, ...]) -> None:
    """Make a schema require a key or one of the others."""
    schema["required"].remove(key)
    schema["anyOf"] = [{"required": [each]} for each in (key, *others)]


def _needs_cpus(schema: dict[str, Any]) -> None:
    _required_unless(schema, "cpus", COUNT_CPUS[1:])


class Hardware(SourcedEntry):
    """A hardware model of nodes."""

    model_config = ConfigDict(json_schema_extra=_needs_cpus)

    cpus: Several = Field(description="Logical CPUs, as Slurm counts them; default: sockets times cores times threads.")
    sockets: Sockets = None
    cores: Cores = None
    threads: Threads = None
    memory: Memory = None
    real_memory: RealMemory = None
    gpu_slots: Count | None = Field(None, description="Maximum GPUs of a node; used only to check the inventory.")
    nvswitch: Flag = Field(False, description=_NVSWITCH)
    cpus_kept_per_gpu: Count = Field(0, description=_CPUS_KEPT)
    cores_kept: Count = Field(0, description=_CORES_KEPT)
    memory_kept: Size = Field(0, description=_MEMORY_KEPT)
    local_disk: JobDisk = None
    arch: Arch = None
    distribution: NodeSystem | None = Field(
        None, description="The distribution of these nodes; default: software.distribution."
    )
    weight: NodeWeight = None
    parameters: Parameters = Field(
        default_factory=dict, description="Further keys of these nodes' lines in slurm.conf, such as CpuBind."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_cores(cls, data: Any) -> Any:
        if isinstance(data, dict) and "cpus" not in data:
            numbers = [data.get("sockets", 1), data.get("cores"), data.get("threads", 1)]
            if all(type(number) is int for number in numbers):
                return {"cpus": logical_cpus(*numbers), **data}
        return data

    @property
    def threads_per_core(self) -> int:
        """Hardware threads of a core; 1 if `threads` is not set."""
        return self.threads or 1

    @property
    def system_cpus(self) -> int:
        """Logical CPUs that are reserved for the system."""
        return self.cores_kept * self.threads_per_core

    @property
    def job_cpus(self) -> int:
        """Logical CPUs that jobs can get."""
        return max(0, self.cpus - self.system_cpus)

    @property
    def nominal_memory(self) -> int:
        """Nominal memory in MiB less `memory_kept`; checks compare limits of groups with it."""
        return max(0, (self.memory or self.real_memory or 0) - self.memory_kept)

    def slurm_memory(self, reserve: str) -> int:
        """Return RealMemory in MiB: `real_memory`, else the nominal memory less slurm.memory_reserve (`3%`)."""
        if self.real_memory is not None:
            return self.real_memory
        return (self.memory or 0) * (100 - int(reserve.rstrip("%"))) // 100

    def job_memory(self, reserve: str) -> int:
        """Return the MiB that jobs can get."""
        return max(0, self.slurm_memory(reserve) - self.memory_kept)


class Cloud(SourcedEntry):
    """The cloud in which the controllers start and stop elastic nodes, with Apache Libcloud."""

    driver: Provider = Field(
        description="Libcloud's name of the provider, such as gce, openstack or ec2; MODULE:CLASS of a site's driver."
    )
    arguments: dict[VariableName, Word] = Field(
        default_factory=dict, description="The driver's arguments besides the credentials, by Libcloud's names."
    )
    credentials: PlainPath = Field(
        "/etc/gpupool/cloud-credentials.json",
        description=(
            "File on the controllers with the driver's secret arguments, a JSON object that the user slurm can read. "
            "An admin puts it there."
        ),
    )
    starting: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Maximum number of nodes that start at the same time; default: no limit."
    )
    idle_after: Duration = Field(300, description="Idle time after which a node is switched off.")
    boot_timeout: Duration = Field(300, description="Maximum time from a node's start to its first job.")
    shutdown_timeout: Duration = Field(120, description="Maximum time that a node takes to switch off.")


_IMPLY_COMPUTE = ("hardware", "gpus", *COUNT_CPUS)


def _with_default_roles(schema: dict[str, Any]) -> None:
    _required_unless(schema, "roles", _IMPLY_COMPUTE)


class NodeEntry(SourcedEntry):
    """One node, or a range of identical nodes. Without `roles`, a node with CPUs or GPUs is a compute node."""

    model_config = ConfigDict(json_schema_extra=_with_default_roles)

    name: NodeNames
    address: Address | None = Field(
        None,
        description=(
            "IPv4 address, or a range as long as the range of names. Nodes with `managed: false` may have one "
            "together, and a DNS name instead of an address."
        ),
    )
    addresses: dict[NetworkName, Address] = Field(
        default_factory=dict,
        description=(
            "Addresses in further networks, by their names in cluster.networks. /etc/hosts has them as NAME-NETWORK, "
            "such as a40-01-fabric."
        ),
    )
    hostname: HostNames | None = Field(
        None,
        description=(
            "Only with `managed: false`: host name of the machine, where Slurm has another name for the node. One for "
            "all nodes of the entry, or a range as long as the range of names."
        ),
    )
    domain: Domain | None = Field(None, description="Only if it differs from the cluster's.")
    roles: tuple[Role, ...] = Field(
        min_length=1, description="Default for a node with `hardware`, `gpus`, `cpus` or `cores`: compute."
    )
    hardware: Name | None = Field(
        None,
        description=(
            "An entry of `hardware`; default for compute nodes without `cpus` and `cores`: the only entry, if there is "
            "only one. Keys of the node override it: all of `hardware` but gpu_slots."
        ),
    )
    cpus: Several | None = Field(
        None, description="Logical CPUs, as Slurm counts them; default: sockets times cores times threads."
    )
    sockets: Sockets = None
    cores: Cores = None
    threads: Threads = None
    memory: Memory = None
    real_memory: RealMemory = None
    nvswitch: Flag | None = Field(None, description=_NVSWITCH)
    cpus_kept_per_gpu: Count | None = Field(None, description=_CPUS_KEPT)
    cores_kept: Count | None = Field(None, description=_CORES_KEPT)
    memory_kept: Size | None = Field(None, description=_MEMORY_KEPT)
    local_disk: JobDisk = None
    arch: Arch = None
    weight: NodeWeight = None
    gpus: dict[Name, OnNode] = Field(default_factory=dict, description="Number of GPUs by type.")
    devices: dict[Name, tuple[DeviceFiles, ...]] = Field(
        default_factory=dict,
        description=(
            "Device files by GPU type, one item for each GPU or MIG slice; commas separate several files of an item. "
            "Default: /dev/nvidia0, 1, …, or /dev/dri/renderD128, 129, … in the order of `gpus`."
        ),
    )
    gpu_memory: dict[Name, Size] = Field(
        default_factory=dict,
        description="Memory of one GPU, by type; the node gets a feature such as a100_80g.",
    )
    gres: dict[GresName, Several] = Field(
        default_factory=dict, description="The site's own generic resources, which Slurm only counts."
    )
    features: tuple[Label, ...] = Field(
        (), description="Features for `--constraint`, in addition to the GPU types, such as cpu:epyc."
    )
    managed: Flag = Field(True, description="False: gpupool only knows its name and address, and never logs in.")
    distribution: NodeSystem | None = Field(
        None, description="The node's distribution; default: that of its hardware, or software.distribution."
    )
    manage: Manage | None = Field(
        None, description="The roles that gpupool manages on this node; default: those of `cluster.manage`."
    )
    elastic: Flag = Field(False, description="Switched on when a job needs it, and off when idle (see `cloud`).")
    model: Word | None = Field(None, description="The machine's model, for people.")
    capacity: Size | None = Field(None, description="Storage capacity of a fileserver.")
    media: Literal["hdd", "ssd", "nvme"] | None = Field(None, description="Disks of a fileserver, for people.")
    profile: Word | None = Field(None, description="Intended use of a fileserver, for people.")
    parameters: Parameters = Field(
        default_factory=dict, description="Further keys of the node's line in slurm.conf; they override the hardware's."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_compute(cls, data: Any) -> Any:
        if isinstance(data, dict) and "roles" not in data and any(key in data for key in _IMPLY_COMPUTE):
            return {**data, "roles": ["compute"]}
        return data


class Gpu(SourcedEntry):
    """How GPUs are assigned to jobs."""

    constrain_devices: Flag = Field(True, description="A job can only open its own GPUs.")
    driver: Literal["nvidia", "fake"] = Field(
        "nvidia", description="fake: device files without a driver, for testbeds."
    )
    device_env: tuple[VariableName, ...] = Field(
        (), description="Environment variables that hold the UUIDs of the job's GPUs."
    )
