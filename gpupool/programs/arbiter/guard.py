"""The guard: the allocations of jobs, compared with the limits of the inventory for a job and for an account.

The submit plugin predicts the allocation, which is not possible for every request. The guard reads it from the queue.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpupool.slurm import tres
from gpupool.slurm.hostlists import expand

from .jobs import Job
from .room import Node

#: An admin writes this into the AdminComment of a job that may hold more.
ALLOWED = "[gpupool-allowed]"
#: The beginning of the text that the guard writes into the comments of a job.
MARK = "[gpupool-guard: "
_MARK = re.compile(r" ?\[gpupool-guard: run (\d+), [^\]]*\]")
_HELD = frozenset({"RUNNING", "SUSPENDED", "CONFIGURING"})
# a lower nice value is a large value that has wrapped in 32 bits; no admin needs such a low value
_WRAPPED = -1_000_000_000


@dataclass(frozen=True)
class Bounds:
    """Bounds of a job: memory in MiB and CPUs for each GPU by type; memory for each CPU of a job without GPUs.

    None, an empty mapping, or a type without CPUs means no bound. A type that is not in `per_gpu` has the
    highest bound of those in it. A job with all CPUs of its nodes has no bound, because it is charged for
    them. Slurm allocates all `threads` of a core together, even if a job requests fewer. A job whose nice value wrapped
    gets `nice`.

    `accounts` has the maximum of some TRES that all jobs of an account and the accounts below it (`parents`) may hold
    together. Jobs in the partitions and QoS of `lent` do not count: they are preemptable. Only jobs that started after
    `since`, in seconds since 1970, are held for that: Slurm leaves older jobs running when a limit is lowered.
    """

    per_gpu: Mapping[str, int] = field(default_factory=dict)
    per_cpu: int | None = None
    cpus: Mapping[str, int] = field(default_factory=dict)
    threads: int = 1
    nice: int = 0
    action: Literal["hold", "cancel"] = "hold"
    accounts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    lent: Collection[str] = ()
    since: float = 0

    @property
    def any(self) -> bool:
        """Whether single jobs have a bound."""
        return bool(self.per_gpu) or self.per_cpu is not None or bool(self.cpus)


@dataclass(frozen=True)
class Excess:
    """A job that holds more than it may, and the reason."""

    job: Job
    reason: str


def of_jobs(jobs: Iterable[Job], bounds: Bounds) -> list[Excess]:
    """Return the jobs that hold more than their bounds, including jobs with whole nodes."""
    excesses = []
    for job in filter(_counts, jobs):
        if reason := _memory(job, bounds) or _cpus(job, bounds):
            excesses.append(Excess(job, reason))
    return excesses


def of_accounts(jobs: Iterable[Job], bounds: Bounds) -> list[Excess]:
    """Return the youngest jobs of each account that holds more than it may, as few as hold the excess."""
    held: dict[str, list[Job]] = {}
    for job in jobs:
        if _counts(job) and job.qos not in bounds.lent and job.partitions[0] not in bounds.lent:
            account = job.account
            while account and job not in held.setdefault(account, []):
                held[account].append(job)
                account = bounds.parents.get(account, "")
    excesses: dict[str, Excess] = {}
    for account, limits in bounds.accounts.items():
        for key, most in limits.items():
            own = [job for job in held.get(account, []) if job.amount(key) and job.name not in excesses]
            total = sum(job.amount(key) for job in own)
            for job in sorted(own, key=lambda job: (-job.start, job.name)):
                if total <= most or job.start <= bounds.since:
                    break
                reason = f"{account} has {total:.0f} {key} in jobs that are not preemptable, at most {most} are allowed"
                excesses[job.name] = Excess(job, reason)
                total -= job.amount(key)
    return list(excesses.values())


def _counts(job: Job) -> bool:
    return bool(job.states & _HELD) and job.user != "root" and ALLOWED not in job.comment


def without_whole(excesses: Iterable[Excess], nodes: Iterable[Node]) -> list[Excess]:
    """Return the excesses without those of jobs with all CPUs of their nodes."""
    cpus = {node.name: node.has.get("cpu", 0) for node in nodes}
    return [
        excess
        for excess in excesses
        if excess.job.amount("cpu") < sum(cpus.get(name, math.inf) for name in expand(excess.job.nodes))
    ]


def wrapped(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs whose nice value has wrapped, which gives them the highest priority."""
    return [job for job in jobs if job.nice < _WRAPPED and job.priority > 0]


def held(jobs: Iterable[Job]) -> list[Job]:
    """Return the jobs that the guard has held and that are still held."""
    still = (job for job in jobs if job.pending and job.priority == 0 and _MARK.search(job.comment))
    return sorted(still, key=lambda job: job.name)


def commands(excess: Excess, bounds: Bounds) -> list[list[str]]:
    """Return the commands that end a run of a job: they record the reason, and hold or cancel the job.

    If a user has released a held job without reducing its request, only an admin can release the second hold.
    """
    job, reason = excess.job, excess.reason
    before = _MARK.search(job.comment)
    mark = f"{MARK}run {job.restarts}, {reason}]"
    again, name = _stays(job, bounds), job.name
    return [
        [
            *("scontrol", "update", f"JobId={name}"),
            f"AdminComment={_with(mark, job.comment)}",
            f"Comment={_with(mark, job.user_comment[:1000])}",
        ],
        ["scontrol", "requeuehold", "Incomplete", name] if again else ["scancel", name],
        *([["scontrol", "hold", name]] if again and before else []),
    ]


def notification(excess: Excess, bounds: Bounds) -> list[str]:
    """Return the command that writes into a job's output why it ends."""
    job = excess.job
    verb = "held" if _stays(job, bounds) else "cancelled"
    return ["scontrol", "notify", job.name, f"gpupool: job {job.name} is {verb}: {excess.reason}"]


def _stays(job: Job, bounds: Bounds) -> bool:
    """Return whether a job is held in the queue, not cancelled."""
    return bounds.action == "hold" and job.batch and job.requeue


def _with(mark: str, comment: str) -> str:
    return f"{_MARK.sub('', comment)} {mark}".strip()


def _memory(job: Job, bounds: Bounds) -> str | None:
    kinds, cpus, mem = _by_type(job), job.amount("cpu"), job.amount("mem")
    if not kinds:
        if bounds.per_cpu is None or mem <= cpus * bounds.per_cpu:
            return None
        return f"it has {mem:.0f}M of memory with {_count(cpus, 'CPU')}, at most {bounds.per_cpu}M per CPU is allowed"
    if not bounds.per_gpu:
        return None
    # a GPU whose type Slurm does not count may be of the type with the most
    highest, gpus = max(bounds.per_gpu.values()), sum(kinds.values())
    most = sum(count * bounds.per_gpu.get(kind, highest) for kind, count in kinds.items())
    # with --mem-per-cpu Slurm allocates the memory of all threads of a core; 24.11 does not show that option later
    if mem <= most * bounds.threads:
        return None
    return f"it has {mem:.0f}M of memory with {_count(gpus, 'GPU')}, at most {most // gpus}M per GPU is allowed"


def _cpus(job: Job, bounds: Bounds) -> str | None:
    kinds, cpus = _by_type(job), job.amount("cpu")
    if not kinds or not bounds.cpus:
        return None
    # GPUs whose types Slurm does not count have no bound
    most = sum(count * bounds.cpus.get(kind, math.inf) for kind, count in kinds.items())
    if cpus <= most * bounds.threads:
        return None
    return f"it has {_count(cpus, 'CPU')} with {_count(sum(kinds.values()), 'GPU')}, at most {most:.0f} are allowed"


def _by_type(job: Job) -> dict[str, int]:
    """Return the GPUs of a job by type; all as `""` if Slurm does not count their types."""
    kinds = tres.gpus(job.has)
    whole = kinds.pop("", 0)
    if sum(kinds.values()) == whole:
        return kinds
    return {"": whole} if whole else {}


def _count(count: float, noun: str) -> str:
    return f"{count:.0f} {noun}{'' if count == 1 else 's'}"
