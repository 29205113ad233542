"""Slurm itself: version, scheduler, preemption."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from gpupool.cluster.schema.base import (
    AbsolutePath,
    Count,
    Entry,
    Flag,
    Name,
    NetworkName,
    NodePath,
    NumberByType,
    PlainPath,
    SacctField,
    Several,
    SourcedEntry,
    Word,
    spelt,
)
from gpupool.cluster.schema.labs import OverLimit, PreemptAction
from gpupool.cluster.schema.parameters import Parameters
from gpupool.cluster.schema.systems import NodeSystem
from gpupool.cluster.units import Duration, Size, Span, parse_size
from gpupool.distributions.slurm import Source
from gpupool.distributions.tables import Distribution
from gpupool.slurm.releases import DEFAULT, Known

_MAX_JOB_COUNT = 10_000  # slurmctld's default, slurm.conf(5)
# a shell, Lua and a terminal read these characters literally
Unit = Annotated[str, spelt(r"^[A-Za-z0-9]+([ _-][A-Za-z0-9]+)*$", "write plain words", max_length=30)]
PrivateData = Annotated[str, spelt(r"^[a-z]+$", "a kind of data is a word in lower case, such as jobs")]
TimeOfDay = Annotated[
    str, spelt(r"^([01][0-9]|2[0-3]):[0-5][0-9]$", 'write hours and minutes in quotes: "02:30"', max_length=5)
]


class Health(Entry):
    """Health check of each compute node. A problem drains the node; without problems the node is resumed."""

    enabled: Flag = Field(True, description="False: compute nodes are not checked.")
    interval: Duration = Field(300, description="Time between two checks.")
    checks: tuple[Literal["gpus", "mounts", "disk", "clock"], ...] = Field(
        ("gpus", "mounts", "disk", "clock"), min_length=1, description="The checks to make; default: all of them."
    )
    disk_free: Size = Field(1024, description="Minimum free space on /, /tmp and slurmd's spool directory.")


class Cgroup(Entry):
    """Further settings of cgroup.conf."""

    parameters: Parameters = Field(default_factory=dict, description="Further keys of cgroup.conf.")


class Slurmdbd(Entry):
    """Further settings of slurmdbd.conf."""

    parameters: Parameters = Field(default_factory=dict, description="Further keys of slurmdbd.conf.")


class Backup(Entry):
    """Nightly copies of the accounting database and of the controller's state, readable by root alone."""

    to: PlainPath = Field(
        description="Directory of the backups, with the same path on the database's node and on the first controller; "
        "best on an export of another machine."
    )
    at: TimeOfDay = Field("02:30", description='Time of day in the cluster\'s time zone, in quotes: "02:30".')
    keep: Several = Field(14, description="Number of backups to keep of each kind.")


def _by_system(value: Any) -> Any:
    return value if value is None or isinstance(value, Mapping) else {"default": value}


#: The key of a repository, or a mapping of distribution to key with `default` for all others; as data always a mapping.
RepositoryBySystem = Annotated[
    dict[NodeSystem | Literal["default"], Name],
    Field(min_length=1),
    BeforeValidator(_by_system, json_schema_input_type=dict[NodeSystem | Literal["default"], Name] | Name),
]
Left = Literal[
    "cgroups",
    "steps",
    "configless",
    "enforce",
    "submit",
    "order",
    "select",
    "memory",
    "gpus",
    "preemption",
    "limits",
    "place",
]


class Slurm(SourcedEntry):
    """The Slurm daemons and their state."""

    version: Known = Field(
        DEFAULT,
        description="The release on all nodes; the distribution or a repository of the site has it.",
    )
    packages: Source = Field(
        "distribution",
        description="Where Slurm's packages come from: the distribution's, also of a repository of yours; SchedMD's "
        "own (slurm-smd), of `repository`; or `site`: the site installs and upgrades Slurm, and gpupool does not.",
    )
    prefix: PlainPath = Field(
        "/usr",
        description="With `packages: site`, the prefix for which Slurm was built: its programs are in PREFIX/bin and "
        "PREFIX/sbin.",
    )
    etc: PlainPath | None = Field(
        None,
        description="With `packages: site`, the folder of slurm.conf; default: PREFIX/etc, and /etc/slurm for /usr.",
    )
    repository: RepositoryBySystem | None = Field(
        None,
        description="Key of software.repositories with Slurm's packages, or one for each distribution, with `default` "
        "for the others; default: the distribution.",
    )
    network: NetworkName | None = Field(
        None,
        description="A network of cluster.networks, at whose addresses Slurm's daemons reach each other (NodeAddr, "
        "SlurmctldHost, AccountingStorageHost). Controllers need one there; other nodes without one keep `address`, "
        "and need routes between the two networks. Default: cluster.network.",
    )
    state: AbsolutePath = Field(
        "/var/spool/slurmctld",
        description="State directory of slurmctld; with several controllers, on a mount they share.",
    )
    spool: NodePath = Field(
        "/var/spool/slurmd",
        description="Directory in which slurmd finds the jobs of its node (SlurmdSpoolDir), with %n for the node's "
        "name; it can only change while no job runs.",
    )
    memory_reserve: Annotated[str, spelt(r"^\d{1,2}%$", "write a share such as 3%")] = Field(
        "3%", description="Share of the nominal memory that firmware and kernel use; RealMemory does not include it."
    )
    disk_reserve: Annotated[str, spelt(r"^\d{1,2}%$", "write a share such as 12%")] = Field(
        "12%",
        description="Share of a local disk's nominal size that TmpDisk does not include: vendors count 1T as 1000G of "
        "10^9 bytes, Slurm as 1024G of 2^30, and the file system takes a part.",
    )
    controller_timeout: Duration = Field(120, description="Time after which the backup controller takes over.")
    health: Health | None = Field(
        None, description="Checks of compute nodes that drain a node with a problem; default: none."
    )
    backup: Backup | None = Field(None, description="Nightly backup of accounting and queue; default: none.")
    exact_accounting: Flag = Field(
        True, description="False: another system writes to slurmdbd, too; gpupool does not change its entities."
    )
    left: tuple[Left, ...] = Field(
        (),
        description="Groups of gpupool's own keys that stay the site's: gpupool writes none of them, and "
        "`parameters` may have them in Slurm's own words.",
    )
    parameters: Parameters = Field(
        default_factory=dict,
        description="Further keys of slurm.conf. Options of a list such as SchedulerParameters are added to gpupool's.",
    )
    cgroup: Cgroup = Field(default_factory=Cgroup, description="Further settings of cgroup.conf.")
    slurmdbd: Slurmdbd = Field(default_factory=Slurmdbd, description="Further settings of slurmdbd.conf.")

    def file(self, name: str) -> str:
        """Return the path of a configuration file of Slurm on the nodes."""
        own = "/etc/slurm" if self.prefix == "/usr" else f"{self.prefix}/etc"
        return f"{self.etc or own}/{name}"

    def of_packages(self) -> "Slurm":
        """Return the same settings for nodes with the distribution's packages of Slurm."""
        places = {"packages": "distribution", "repository": None, "prefix": "/usr", "etc": None}
        return self.model_copy(update=places)

    def repository_of(self, system: Distribution) -> str | None:
        """Return the key of the repository with the packages for a distribution; None if the distribution has them."""
        given = {str(key): name for key, name in (self.repository or {}).items()}
        return given.get(system.label) or given.get(system.key) or given.get("default")


def _for_all(value: Any) -> Any:
    if value is None or isinstance(value, Mapping):
        return value
    parse_size(value)  # a complaint names the key itself
    return {"default": value}


#: A size, or a mapping of GPU type to size with `default` for all others; as data always a mapping.
SizeByType = Annotated[
    dict[Name, Size], Field(min_length=1), BeforeValidator(_for_all, json_schema_input_type=dict[Name, Size] | Size)
]


def of_type(amounts: Mapping[str, int] | None, gpu: str) -> int | None:
    """Return the amount for a GPU of a type, from amounts by type with `default` for all others; None without one."""
    given = amounts or {}
    return given.get(gpu, given.get("default"))


class MemoryOfGpus(Entry):
    """An amount of memory per GPU, the same for all or by type."""

    per_gpu: SizeByType | None = None

    def of_gpu(self, gpu: str) -> int | None:
        """Return the MiB for a GPU of a type; None if the inventory has no amount for it."""
        return of_type(self.per_gpu, gpu)

    def of_gpus(self, gpus: Iterable[str]) -> list[int]:
        """Return the different MiB for GPUs of these types, the lowest first; [] without an amount for any."""
        return sorted({each for gpu in gpus if (each := self.of_gpu(gpu)) is not None})


class DefaultMemory(MemoryOfGpus):
    """Default memory of jobs without a memory request."""

    per_gpu: SizeByType | None = Field(
        None,
        description="Per GPU, for jobs with GPUs: a size, or sizes by GPU type, with `default` for all others. "
        "Can be combined with per_cpu.",
    )
    per_cpu: Size | None = Field(None, description="Per CPU, for jobs without GPUs. Can be combined with per_gpu.")
    per_node: Size | None = Field(None, description="Per node. Cannot be combined with per_gpu or per_cpu.")


class MaxMemory(MemoryOfGpus):
    """The maximum memory that a job may request."""

    per_gpu: SizeByType | None = Field(
        None,
        description="Per GPU, for jobs with GPUs: a size, or sizes by GPU type, with `default` for all others.",
    )
    per_cpu: Size | None = Field(None, description="Per CPU, for jobs without GPUs.")


class LabShare(Entry):
    """CPUs and memory per contributed GPU that all jobs of a lab together may use, including jobs without GPUs."""

    cpu: Count | None = Field(None, description="CPUs per contributed GPU; default: no limit.")
    mem: Size | None = Field(None, description="Memory per contributed GPU; default: no limit.")


PriorityWeight = Annotated[int, Field(strict=True, ge=0, le=10_000_000)]


class PriorityWeights(Entry):
    """Slurm's PriorityWeight of each factor of a job's priority; it orders pending jobs within a tier."""

    qos: PriorityWeight = Field(10_000, description="Priority of the job's QoS, relative to the highest of all QoS.")
    partition: PriorityWeight = Field(
        10_000, description="Priority of the job's partition, relative to the highest of all partitions."
    )
    age: PriorityWeight = Field(1_000, description="Time since the job became eligible, up to a week (PriorityMaxAge).")
    fairshare: PriorityWeight = Field(
        100_000, description="Fairshare of the job's account, with scheduler.fairshare: accounts."
    )
    job_size: PriorityWeight = Field(0, description="Size of the job; with PriorityFavorSmall, small jobs get more.")


class RpcLimit(Entry):
    """Rate limit of requests per user: bucket size, and tokens added per second."""

    bucket: Count = Field(description="Requests that a user may send at once (rl_bucket_size).")
    refill: Count = Field(description="Requests per second that a user may send on average (rl_refill_rate).")


class Scheduler(SourcedEntry):
    """Rules for all jobs."""

    default_partition: Word = Field(
        "none",
        description="A partition name, none, per_user or fit; default: the only partition; none of several.",
    )
    default_memory: DefaultMemory = Field(
        default_factory=DefaultMemory,
        description="Memory of jobs without a memory request; default: all memory of their nodes.",
    )
    max_memory: MaxMemory = Field(
        default_factory=MaxMemory, description="Maximum memory of a job; more is refused. Default: no limit."
    )
    lab_share: LabShare = Field(
        default_factory=LabShare, description="Limits of a lab per contributed GPU, including jobs without GPUs."
    )
    default_cpus_per_gpu: NumberByType | None = Field(
        None,
        description="CPUs per GPU of jobs without a CPU request: a number, or numbers by GPU type, with `default` for "
        "all others; default: one CPU for each task.",
    )
    max_cpus_per_gpu: dict[Name, Several] = Field(
        default_factory=dict,
        description="Jobs with more CPUs per GPU are refused. By GPU type; `default` for all others.",
    )
    guard: Literal["hold", "cancel"] = Field(
        "hold",
        description=(
            "What happens to a job that Slurm allocated more than the inventory allows: it is requeued and held, or "
            "cancelled."
        ),
    )
    untyped_gpus: Literal["allow", "refuse"] = Field(
        "allow",
        description="refuse: jobs must name the type of their GPUs, so that limits on a type are effective. A job gets "
        "the type of its partitions if they have one type only.",
    )
    allocate: Literal["thread", "core"] = Field(
        "thread",
        description=(
            "Unit of allocation: a hardware thread, or a core with all its threads. `core` needs sockets, cores and "
            "threads of all hardware."
        ),
    )
    one_task_per_core: Flag = Field(
        False, description="With `allocate: core`, one task per core, not one per thread (CR_ONE_TASK_PER_CORE)."
    )
    enforce_limits: Literal["any", "all"] = Field(
        "any", description="Whether any or all of a job's partitions must admit it."
    )
    export_fix: Flag = Field(False, description="Keep PATH in the steps of jobs submitted with `sbatch --export=a=1`.")
    warn_cpus_per_gpu: dict[Name, Count] = Field(
        default_factory=dict,
        description="Jobs with more CPUs per GPU get a warning. By GPU type; `default` for all others.",
    )
    rpc_limit: RpcLimit | None = Field(None, description="Limit of users' requests to slurmctld; default: none.")
    default_time: Span | None = Field(
        None, description="Time limit of jobs without --time in partitions without a default_time; default: max_time."
    )
    over_limit: OverLimit = Field(
        "refuse", description="Jobs that alone exceed a limit and could never start: `refuse` them, or let them `wait`."
    )
    max_submitted_jobs: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None,
        description="Maximum pending and running jobs of a user in each account and QoS; every array task counts.",
    )
    private_data: tuple[PrivateData, ...] = Field(
        (), description="What users do not see of others (Slurm's PrivateData); default: they see all."
    )
    fairshare: Literal["none", "accounts"] = Field(
        "none", description="Whether accounts' past use changes the priority of their jobs."
    )
    priority_weights: PriorityWeights = Field(
        default_factory=PriorityWeights, description="Weights of the factors of a job's priority."
    )
    billing_unit: Unit = Field("billing hours", description="Users' name for an hour of billing, the unit of budgets.")
    refuse_submit_from: tuple[AbsolutePath, ...] = Field(
        (), description="Directories in which sbatch is refused, with those below them."
    )
    sacct_fields: dict[Name, SacctField] = Field(
        default_factory=dict,
        description="Old column names and their replacements, with a width if Slurm's default is too small: "
        "AllocTRES%50.",
    )

    @property
    def most_jobs(self) -> int:
        """MaxJobCount, above which no user can submit; ten users with `max_submitted_jobs` cannot reach it."""
        return max(_MAX_JOB_COUNT, 20 * (self.max_submitted_jobs or 0))

    @property
    def hides_jobs(self) -> bool:
        """Whether Slurm shows users only their own jobs, so that its answers must not be shared."""
        return bool({"jobs", "all"} & set(self.private_data))

    def most_cpus(self, gpu: str) -> int | None:
        """Return the maximum CPUs that a job may request per GPU of a type; None without a limit."""
        return of_type(self.max_cpus_per_gpu, gpu)


class Arbiter(SourcedEntry):
    """Lets a job that is pending because of its lab's cap preempt preemptable jobs of the same lab."""

    enabled: Flag = Field(True, description="False: not deployed.")
    partitions: tuple[Name, ...] = Field(
        description="Preemptable partitions in which the lab's own jobs are preempted."
    )
    interval: Duration = Field(15, description="Time between two looks at the queue.")


class Preemption(SourcedEntry):
    """The effect of preemption on jobs. The tiers of partitions, or `preempts` of QoS, decide who preempts whom."""

    action: PreemptAction = Field(
        "requeue", description="What happens to a preempted job: it starts again later, or is ended."
    )
    send_user_signal: Flag = Field(True, description="The job gets its --signal at the start of its grace time.")
    requeue_delay: Duration | None = Field(None, description="Minimum time before a requeued job starts again.")
    arbiter: Arbiter | None = Field(
        None, description="Preempts a lab's own jobs for a job that waits for its cap; default: off."
    )
