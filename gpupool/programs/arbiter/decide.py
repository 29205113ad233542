"""The arbiter's decisions, as pure functions of the observed queue."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .guard import Bounds
from .jobs import Job
from .limits import Limit, Limits
from .room import Room

# the reasons of a job that waits because its account, or a parent account, has reached a limit of running jobs
CAPPED = frozenset(
    {
        "AssocGrpGRES",
        "AssocGrpCpuLimit",
        "AssocGrpMemLimit",
        "AssocGrpNodeLimit",
        "AssocGrpBilling",
        "AssocGrpJobsLimit",
    }
)
# seconds after the grace time of an evicted job in which no other job is evicted for the same pending job
SETTLE = 60
# maximum number of times that SETTLE is doubled if evictions do not help
TRIES = 10
_MARK = re.compile(r" ?\[gpupool: leaves at (\d+), run (\d+), for job (\w+)\]")
_NOTE = re.compile(r" ?\[gpupool: [^\]]*\]")


@dataclass(frozen=True)
class Settings:
    """The settings of /etc/gpupool/arbiter.json; `grace` and `tier` are by partition, times are in seconds.

    `grace` has the preemptable partitions. If Slurm preempts by QoS, `qos_grace` has the preemptable QoS instead.
    `actions` has the exceptions from `action` by partition or QoS. `share` is the file with the queue for other
    programs, "" for none.
    """

    labmates: tuple[str, ...] = ()
    grace: Mapping[str, int] = field(default_factory=dict)
    qos_grace: Mapping[str, int] = field(default_factory=dict)
    tier: Mapping[str, int] = field(default_factory=dict)
    partition_qos: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    action: Literal["requeue", "cancel"] = "requeue"
    actions: Mapping[str, Literal["requeue", "cancel"]] = field(default_factory=dict)
    user_signal: bool = True
    interval: int = 15
    share: str = ""
    bounds: Bounds = field(default_factory=Bounds)

    def preempted_by(self, job: Job) -> str:
        """Return the name of the QoS or partition that decides whether a job is preemptable."""
        return job.qos if self.qos_grace else job.partitions[0]

    def grace_of(self, job: Job) -> int:
        """Return the grace time of a job in seconds; 0 if it has none."""
        return (self.qos_grace or self.grace).get(self.preempted_by(job), 0)

    def is_preemptable(self, job: Job) -> bool:
        """Return whether Slurm may preempt a running job."""
        return self.preempted_by(job) in (self.qos_grace or self.grace)


@dataclass(frozen=True)
class Mark:
    """The arbiter's mark in the comment of a signalled job: the end of its grace time, the run, and the pending job."""

    at: int
    run: int
    waiting: str

    def __str__(self) -> str:
        return f"[gpupool: leaves at {self.at}, run {self.run}, for job {self.waiting}]"


@dataclass(frozen=True)
class Decision:
    """Signal a job, end a job after its grace time, or spare a signalled job that no pending job needs any more."""

    act: Literal["signal", "end", "spare"]
    job: Job
    reason: str
    mark: Mark | None = None

    @property
    def note(self) -> str:
        """Return the text for the job's AdminComment; "" for a spared job."""
        if self.act == "spare":
            return ""
        return str(self.mark or f"[gpupool: preempted by Slurm, run {self.job.restarts}]")


def mark_of(job: Job) -> Mark | None:
    """Return the arbiter's last mark on a job, of any run."""
    match = _MARK.search(job.comment)
    return Mark(int(match[1]), int(match[2]), match[3]) if match else None


def unmarked(comment: str) -> str:
    """Return a comment without the arbiter's texts."""
    return _NOTE.sub("", comment)


def waiting(jobs: Iterable[Job], settings: Settings) -> list[Job]:
    """Return the jobs that wait on their account's limit while preemptable jobs of the account run."""
    jobs = list(jobs)
    yielding = {job.account for job in jobs if job.running and job.partitions[0] in settings.labmates}
    blocked = [
        job
        for job in jobs
        if job.startable and job.reason in CAPPED and job.account in yielding and owned(job, settings)
    ]
    return sorted(blocked, key=lambda job: (-job.priority, int(job.name.partition("_")[0])))


def overdue(jobs: Iterable[Job], settings: Settings, now: float) -> list[Decision]:
    """Return the decisions on jobs whose grace time is over, never before its end."""
    jobs = list(jobs)
    pending = {number(job.name) for job in jobs if job.pending}
    decisions = []
    for job in jobs:
        due = _due(job, settings)
        if due is None or due > now:
            continue
        mark = _valid(job)
        if job.preempted:
            decisions.append(Decision("end", job, "preempted by Slurm, and its grace time is over"))
        elif mark and number(mark.waiting) in pending:
            decisions.append(
                Decision("end", job, f"signalled for job {mark.waiting}, and its grace time is over", mark)
            )
        elif mark:
            decisions.append(Decision("spare", job, f"job {mark.waiting} is no longer pending", mark))
    return decisions


def deadline(jobs: Iterable[Job], settings: Settings) -> int | None:
    """Return the end of the next grace time, in seconds since 1970; None if there is none."""
    return min((due for job in jobs if (due := _due(job, settings)) is not None), default=None)


def _due(job: Job, settings: Settings) -> int | None:
    """Return the end of a running job's grace time; one second later than Slurm's, because Slurm rounds down."""
    if not job.running or not settings.is_preemptable(job):
        return None
    if job.preempted:
        end = job.end
        if job.preempted < job.start:
            # Slurm preempted the job while its node booted, set a new end when it started, and preempts no job twice
            # (measured on 24.11); a requeued job has no preempt time
            end = min(end, job.preempted + settings.grace_of(job))
        return end + 1 if job.preempted <= job.end else None
    mark = _valid(job)
    return mark.at if mark else None


def evictions(
    jobs: Iterable[Job],
    limits: Limits,
    room: Room,
    settings: Settings,
    now: int,
    recent: Mapping[str, int] | None = None,
) -> list[Decision]:
    """Return the jobs to signal so that labmates' pending jobs start: the youngest, and no more than needed.

    `recent` has the time until which no other job is evicted for a pending job, by its name.
    """
    jobs = list(jobs)
    made = settling(jobs, recent or {})
    chosen: dict[str, dict[str, tuple[Job, Job]]] = {}
    promised: dict[str, dict[str, float]] = {}
    givers: dict[str, tuple[list[Job], list[Job]]] = {}
    # missing amounts only grow, and room only shrinks: if one job cannot start, neither can jobs with the same wish
    hopeless: set[tuple[object, ...]] = set()
    for job in waiting(jobs, settings):
        if job.wish in hopeless:
            continue
        own = limits.accounts.get(job.account)
        partitions = [name for name in owned(job, settings) if user_may(job, name, limits, settings)]
        if not own or not partitions or not parents_allow(job, limits):
            hopeless.add(job.wish)
            continue
        if job.account not in givers:
            givers[job.account] = _givers(job, jobs, settings)
        going, staying = givers[job.account]
        for _ in range(job.tasks):
            before = chosen.get(job.account, {})
            # choose the jobs to evict again for all pending jobs so far: one large job may make room for two
            missing = _missing(own, job, going, promised.get(job.account, {}))
            now_chosen = _youngest(staying, missing)
            if now_chosen is None:
                hopeless.add(job.wish)
                break
            added = {victim.name for victim in now_chosen} - before.keys()
            if added and made.get(number(job.name), 0) > now:
                break
            if not room.take(job, partitions):
                hopeless.add(job.wish)
                break
            chosen[job.account] = {
                victim.name: (victim, before[victim.name][1] if victim.name in before else job) for victim in now_chosen
            }
            ours = promised.setdefault(job.account, {})
            for key, amount in {**job.asks, "jobs": 1.0}.items():
                ours[key] = ours.get(key, 0) + amount
    return [
        signal(
            victim,
            job,
            settings,
            now,
            f"job {job.name} of {job.user} waits on the limit of {job.account} ({job.reason})",
        )
        for pairs in chosen.values()
        for victim, job in pairs.values()
    ]


def settling(jobs: Iterable[Job], recent: Mapping[str, int]) -> dict[str, int]:
    """Return until when no other job is evicted for a pending job, by its number: from `recent` and marks of jobs."""
    made = dict(recent)
    for job in jobs:
        if mark := mark_of(job):
            made[number(mark.waiting)] = max(made.get(number(mark.waiting), 0), mark.at + SETTLE)
    return made


def _givers(job: Job, jobs: Iterable[Job], settings: Settings) -> tuple[list[Job], list[Job]]:
    """Return the jobs that may be evicted for a pending one: the jobs that are leaving already, and the others.

    The others are in the order of eviction, the youngest first.
    """
    running = [
        other
        for other in jobs
        if other.running and other.account == job.account and other.partitions[0] in settings.labmates
    ]
    staying = [other for other in running if not leaving(other) and not other.peculiar and other.start]
    staying.sort(key=lambda other: (-other.start, other.name))
    return [other for other in running if leaving(other)], staying


def leaving(job: Job) -> bool:
    """Return whether Slurm, or the arbiter in this run of the job, has signalled a job to end."""
    return bool(job.preempted or _valid(job))


def _missing(limit: Limit, job: Job, going: Iterable[Job], promised: Mapping[str, float]) -> dict[str, float]:
    used = dict(limit.used)
    for key, amount in promised.items():
        used[key] = used.get(key, 0) + amount
    for other in going:
        for key, amount in {**other.has, "jobs": 1.0}.items():
            used[key] = used.get(key, 0) - amount
    return Limit(limit.most, used).short(job.asks)


def _youngest(jobs: Iterable[Job], missing: Mapping[str, float]) -> list[Job] | None:
    """Return the first jobs that free the missing amounts together, without needless ones; None if all are too few."""
    short = dict(missing)
    chosen: list[Job] = []
    for job in jobs:
        if all(amount <= 0 for amount in short.values()):
            break
        if any(_frees(job, key) for key in short):
            chosen.append(job)
            short = {key: amount - _frees(job, key) for key, amount in short.items()}
    if any(amount > 0 for amount in short.values()):
        return None
    needed = []
    for job in reversed(chosen):
        without = {key: amount + _frees(job, key) for key, amount in short.items()}
        if all(amount <= 0 for amount in without.values()):
            short = without
        else:
            needed.append(job)
    return needed[::-1]


def _frees(job: Job, key: str) -> float:
    return 1.0 if key == "jobs" else job.amount(key)


def user_may(job: Job, partition: str, limits: Limits, settings: Settings) -> bool:
    """Return whether the limits of the job's user and QoS allow it to start in a partition."""
    qos = [name for name in (job.qos, settings.partition_qos.get(partition)) if name]
    of_user = [limits.users.get((job.account, job.user)), *(limits.qos_users.get((name, job.user)) for name in qos)]
    return not any(limit.short(job.asks) for limit in [*of_user, *map(limits.qos.get, qos)] if limit)


def parents_allow(job: Job, limits: Limits) -> bool:
    """Return whether the limits of all parent accounts allow the job to start.

    False if a parent account is not known: a coordinator may have added the job's account below it.
    """
    above = limits.parents.get(job.account, "")
    seen = {job.account}
    while above not in ("", "root"):
        limit = limits.accounts.get(above)
        if limit is None or above in seen or limit.short(job.asks):
            return False
        seen.add(above)
        above = limits.parents.get(above, "")
    return True


def signal(victim: Job, job: Job, settings: Settings, now: int, why: str) -> Decision:
    """Return the decision to end `victim` for the pending `job`: after its grace time, or at once if it has none."""
    grace = settings.grace_of(victim)
    mark = Mark(now + grace + 1, victim.restarts, number(job.name))
    return Decision("signal" if grace else "end", victim, why, mark)


def owned(job: Job, settings: Settings) -> list[str]:
    """Return the partitions of a pending job that are not preemptable."""
    return [name for name in job.partitions if name not in settings.grace]


def _valid(job: Job) -> Mark | None:
    mark = mark_of(job)
    return mark if mark and mark.run == job.restarts else None


def number(name: str) -> str:
    """Return the number of a job or of the array that a task belongs to."""
    return name.partition("_")[0]
