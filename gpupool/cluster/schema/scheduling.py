"""How Slurm itself is set: version, scheduler, preemption."""

from typing import Annotated, Literal

from pydantic import Field

from gpupool.cluster.schema.base import AbsolutePath, Count, Entry, Fact, Flag, Name, Word
from gpupool.cluster.words import Duration, Size

ParameterKey = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
# slurm.conf ends a value at a blank, where another key may begin, and a line at #; " and \\ are its own
ParameterValue = Annotated[Word, Field(pattern=r"^[^\s#\"\\]+$")]
PrivateData = Annotated[str, Field(strict=True, pattern=r"^[a-z]+$")]
SlurmVersion = Literal["22.05", "24.11", "26.05"]


class Slurm(Fact):
    """The daemons and where they keep their state."""

    version: SlurmVersion = Field("24.11", description="As the nodes' distribution ships it.")
    state: AbsolutePath = Field(
        "/var/spool/slurmctld", description="slurmctld's state; on a mount of all controllers when there are several."
    )
    memory_reserve: Annotated[str, Field(strict=True, pattern=r"^\d{1,2}%$")] = Field(
        "3%", description="Share of a node's nominal memory that Slurm is not told of: firmware and kernel hold some."
    )
    controller_timeout: Duration = Field(120, description="After which the backup controller takes over.")
    parameters: dict[ParameterKey, ParameterValue] = Field(
        default_factory=dict, description="More keys of slurm.conf, as they are."
    )


class DefaultMemory(Entry):
    """Memory of a job that asks for none."""

    per_gpu: Size | None = Field(None, description="Of a job with GPUs; beside it per_cpu, of a job without.")
    per_cpu: Size | None = None
    per_node: Size | None = Field(None, description="Stands alone.")


class MaxMemory(Entry):
    """What a job may ask for at most."""

    per_gpu: Size | None = Field(None, description="Of a job with GPUs.")
    per_cpu: Size | None = Field(None, description="Of a job without GPUs.")


class LabShare(Entry):
    """What a lab may use for each GPU it contributed, in all its jobs together, those without GPUs too."""

    cpu: Count | None = None
    mem: Size | None = None


class RpcLimit(Entry):
    """Requests a user may make at once, and how many come back each second."""

    bucket: Count
    refill: Count


class Scheduler(Fact):
    """Rules for all jobs."""

    default_partition: Word = Field("none", description="A partition's name, none, per_user or fit.")
    default_memory: DefaultMemory = Field(default_factory=DefaultMemory)
    max_memory: MaxMemory = Field(default_factory=MaxMemory)
    lab_share: LabShare = Field(default_factory=LabShare)
    untyped_gpus: Literal["allow", "refuse"] = Field(
        "allow", description="refuse: a job names the type of its GPUs, so that a limit on a type can hold."
    )
    enforce_limits: Literal["any", "all"] = Field("any", description="Of several partitions named, how many must fit.")
    export_fix: Flag = Field(False, description="`sbatch --export=a=1` keeps PATH in the job's steps.")
    warn_cpus_per_gpu: dict[Name, Count] = Field(
        default_factory=dict, description="By GPU type; `default` for the rest."
    )
    rpc_limit: RpcLimit | None = None
    max_submitted_jobs: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None,
        description="Jobs of a user in each account and in each QoS, waiting and running, every task of an array.",
    )
    private_data: tuple[PrivateData, ...] = ()
    fairshare: Literal["none", "accounts"] = "none"
    refuse_submit_from: tuple[AbsolutePath, ...] = ()
    sacct_fields: dict[Name, Name] = Field(default_factory=dict, description="Old column names and what they are now.")


class Arbiter(Fact):
    """A labmate's job that waits on the lab's cap takes the place of the lab's preemptable ones."""

    enabled: Flag = True
    partitions: tuple[Name, ...]
    interval: Duration = 15


class Preemption(Fact):
    """What happens to jobs in preemptable partitions; who preempts is said by the partitions' tiers."""

    action: Literal["requeue", "cancel"] = "requeue"
    send_user_signal: Flag = True
    requeue_delay: Duration | None = Field(None, description="Least time before a requeued job runs again.")
    arbiter: Arbiter | None = None
