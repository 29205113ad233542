"""Arrays whose tasks wait for borrowers to go.

Slurm evicts for the first waiting task of an array only, and for the next one when that has started: a grace time each
(measured on 22.05 and 24.11). A task that was updated by itself has a record of its own, and waits like any job.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .decide import Settings, owned, parents_allow
from .jobs import Job
from .limits import Limit, Limits
from .room import Room

# what an array waits for that could start if others gave way
_SOON = frozenset({"Resources", "Priority"})


@dataclass(frozen=True)
class Split:
    """Tasks of a waiting array, by their numbers, that are to wait by themselves."""

    job: Job
    tasks: tuple[int, ...]


def waiting(jobs: Iterable[Job], settings: Settings) -> list[Job]:
    """Give the arrays that wait in a partition of owners while jobs run that give way; the first to start first."""
    jobs = list(jobs)
    if not any(job.running and job.partitions[0] in settings.grace and not job.preempted for job in jobs):
        return []
    found = [job for job in jobs if len(job.waiting) > 1 and _may_start(job, settings)]
    return sorted(found, key=lambda job: (-job.priority, int(job.name)))


def splits(jobs: Iterable[Job], limits: Limits, room: Room, settings: Settings) -> list[Split]:
    """Give for each waiting array the tasks that could run beside its first one, as limits and the pool allow."""
    jobs = list(jobs)
    promised = _Promised()
    # who waits by himself already takes his share of limit and pool first
    for job in jobs:
        if not job.waiting and _may_start(job, settings):
            room.take(job, owned(job, settings))
            promised.add(job)
    found = []
    for job in waiting(jobs, settings):
        fits = 0
        while fits < job.tasks and promised.leave_room(job, limits) and room.take(job, owned(job, settings)):
            promised.add(job)
            fits += 1
        if fits > 1:
            found.append(Split(job, job.waiting[1:fits]))
    return found


class _Promised:
    """What waiting jobs will hold of their account's limits, and of their user's there."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, ...], Counter[str]] = {}

    def add(self, job: Job) -> None:
        for whose in ((job.account,), (job.account, job.user)):
            self._of.setdefault(whose, Counter()).update({**job.asks, "jobs": 1.0})

    def leave_room(self, job: Job, limits: Limits) -> bool:
        """Tell whether no limit of the account, those above it or the user is in the way of one job more."""
        account, user = limits.accounts.get(job.account), limits.users.get((job.account, job.user))
        if account is None or not parents_allow(job, limits):
            return False
        whose = [((job.account,), account), *([((job.account, job.user), user)] if user else [])]
        return not any(self._beside(key, limit).short(job.asks) for key, limit in whose)

    def _beside(self, whose: tuple[str, ...], limit: Limit) -> Limit:
        ours = self._of.get(whose, Counter())
        return Limit(limit.most, {key: limit.used.get(key, 0) + ours[key] for key in {*limit.used, *ours}})


def _may_start(job: Job, settings: Settings) -> bool:
    soon = job.pending and job.reason in _SOON and not job.peculiar and job.priority > 0
    return soon and bool(owned(job, settings))
