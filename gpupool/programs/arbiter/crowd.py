"""Evict jobs for many pending jobs of a higher tier at once: owners' jobs, or a lab's in its preemptable partition.

Slurm considers each pending job separately. For each it selects the same preemptable jobs, which are already in their
grace time, so it makes room for a few jobs at a time: an array of four tasks waits four grace times, a lab of twelve
jobs five or six (measured on 22.05 and 24.11). Here each leaving job is counted for one pending job only, and more jobs
are evicted for the others, in Slurm's order. Slurm then finds these, and preempts no further jobs.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from .decide import Decision, Settings, leaving, number, parents_allow, signal, user_may
from .jobs import Job
from .limits import Limit, Limits
from .room import Room

# the reasons of pending jobs that could start after an eviction
_SOON = frozenset({"Resources", "Priority", "Nodes", "ReqNodeNotAvail"})


def begun(jobs: Iterable[Job], settings: Settings) -> bool:
    """Return whether Slurm has begun to preempt, and more jobs can be evicted.

    If Slurm preempts nothing, the arbiter does not evict jobs here either.
    """
    jobs = list(jobs)
    told = any(job.running and job.preempted and job.partitions[0] in settings.grace for job in jobs)
    return told and any(True for _ in _borrowers(jobs, settings))


def waiting(jobs: Iterable[Job], settings: Settings) -> list[Job]:
    """Return the jobs that wait for resources in a partition above the lowest preemptable tier, in Slurm's order."""
    queue = [job for job in jobs if job.startable and job.reason in _SOON and _above(job, settings)]

    def turn(job: Job) -> tuple[int, int, int]:
        return -_tier(_above(job, settings), settings), -job.priority, int(number(job.name))

    return sorted(queue, key=turn)


def evictions(
    jobs: Iterable[Job],
    limits: Limits,
    room: Room,
    settings: Settings,
    now: int,
    known: Collection[str],
    recent: Mapping[str, int],
) -> list[Decision]:
    """Return the jobs to signal so that all pending jobs of owners that may start find room at once.

    `room` has the free resources, and those of leaving jobs. `known` are the jobs that were already pending in the last
    cycle; for newer ones Slurm may still make room. `recent` has the time until which no other job is evicted for a
    pending job.
    """
    jobs = list(jobs)
    if not begun(jobs, settings):
        return []
    stay = sorted(_borrowers(jobs, settings), key=lambda job: (_tier(job.partitions, settings), -job.start, job.name))
    promised = _Promised()
    decisions: list[Decision] = []
    # the amounts left by limits only shrink, and so does the room until another eviction: if one job cannot start,
    # neither can jobs with the same wish
    hopeless: set[tuple[object, ...]] = set()
    full: set[tuple[object, ...]] = set()
    for job in waiting(jobs, settings):
        if job.wish in hopeless:
            continue
        partitions = [name for name in _above(job, settings) if user_may(job, name, limits, settings)]
        for _ in range(job.tasks):
            if not partitions or not promised.leave_room(job, limits):
                hopeless.add(job.wish)
                break
            if job.wish in full or not room.take(job, partitions):
                full.add(job.wish)
                if job.name not in known or recent.get(number(job.name), 0) > now or job.choosy:
                    break
                below = [other for other in stay if _tier(other.partitions, settings) < _tier(partitions, settings)]
                gone = room.clear(job, partitions, below)
                if not gone:
                    hopeless.add(job.wish)
                    break
                stay = [other for other in stay if other not in gone]
                why = f"job {job.name} of {job.user} is pending for resources, and other jobs come first"
                decisions += [signal(victim, job, settings, now, why) for victim in gone]
                full.clear()
                room.take(job, partitions)
            promised.add(job)
    return decisions


def _borrowers(jobs: Iterable[Job], settings: Settings) -> Iterator[Job]:
    """Yield the running jobs that can be evicted and are not leaving yet."""
    for job in jobs:
        if job.running and job.partitions[0] in settings.grace and job.start and not job.peculiar and not leaving(job):
            yield job


def _above(job: Job, settings: Settings) -> list[str]:
    """Return the partitions of a pending job that can preempt jobs of a lower tier."""
    lowest = min((_tier([name], settings) for name in settings.grace), default=0)
    return [name for name in job.partitions if _tier([name], settings) > lowest]


def _tier(partitions: Iterable[str], settings: Settings) -> int:
    return max((settings.tier.get(name, 0) for name in partitions), default=0)


class _Promised:
    """The amounts of the limits of accounts, and of their users, that the jobs earlier in the order will use."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, ...], Counter[str]] = {}

    def add(self, job: Job) -> None:
        for whose in ((job.account,), (job.account, job.user)):
            self._of.setdefault(whose, Counter()).update({**job.asks, "jobs": 1.0})

    def leave_room(self, job: Job, limits: Limits) -> bool:
        """Return whether the limits of the account, its parents and the user allow one more job."""
        account, user = limits.accounts.get(job.account), limits.users.get((job.account, job.user))
        if account is None or not parents_allow(job, limits):
            return False
        whose = [((job.account,), account), *([((job.account, job.user), user)] if user else [])]
        return not any(self._beside(key, limit).short(job.asks) for key, limit in whose)

    def _beside(self, whose: tuple[str, ...], limit: Limit) -> Limit:
        ours = self._of.get(whose, Counter())
        return Limit(limit.most, {key: limit.used.get(key, 0) + ours[key] for key in {*limit.used, *ours}})
