"""Who leaves for those of a higher tier that come in numbers: owners, or a lab that borrows from its own.

Slurm looks at each waiting job as if it were alone. It finds the same borrowers for the next one as for the one before,
those who are in their grace time already, and makes room for a few jobs at a time: an array of four tasks waits four
grace times, a lab of twelve jobs five or six (measured on 22.05 and 24.11). Here what leaves is counted for one job
only, and for the others more leave, in Slurm's own order: then Slurm finds those, and looks for nobody else.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from .decide import Decision, Settings, leaving, number, parents_allow, signal, user_may
from .jobs import Job
from .limits import Limit, Limits
from .room import Room

# what a job waits for that could start if others gave way
_SOON = frozenset({"Resources", "Priority", "Nodes", "ReqNodeNotAvail"})


def begun(jobs: Iterable[Job], settings: Settings) -> bool:
    """Return whether Slurm has told somebody to leave, and more could.

    Where it does not make room at all, it is not ours to make.
    """
    jobs = list(jobs)
    told = any(job.running and job.preempted and job.partitions[0] in settings.grace for job in jobs)
    return told and any(True for _ in _borrowers(jobs, settings))


def waiting(jobs: Iterable[Job], settings: Settings) -> list[Job]:
    """Return the jobs that wait for room in a partition above the lowest, in the order of their turn."""
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
    """Return the jobs to be signalled so that all owners who may start find room, and not one at a time.

    `room` has what is free and what leaves. `known` are the jobs that waited at the last look too: with those that
    came since then Slurm has not done all that it can. For those in `recent`, until then, nobody else leaves.
    """
    jobs = list(jobs)
    if not begun(jobs, settings):
        return []
    stay = sorted(_borrowers(jobs, settings), key=lambda job: (_tier(job.partitions, settings), -job.start, job.name))
    promised = _Promised()
    decisions: list[Decision] = []
    # limits only shrink, and room does until another job is chosen to leave: where a job finds none, others alike do
    # not either
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
    """Return the running jobs that could leave and do not yet."""
    for job in jobs:
        if job.running and job.partitions[0] in settings.grace and job.start and not job.peculiar and not leaving(job):
            yield job


def _above(job: Job, settings: Settings) -> list[str]:
    """Return the partitions of a waiting job for which jobs of another one, of a lower tier, have to go."""
    lowest = min((_tier([name], settings) for name in settings.grace), default=0)
    return [name for name in job.partitions if _tier([name], settings) > lowest]


def _tier(partitions: Iterable[str], settings: Settings) -> int:
    return max((settings.tier.get(name, 0) for name in partitions), default=0)


class _Promised:
    """What those in front will hold of their account's limits, and of their user's there."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, ...], Counter[str]] = {}

    def add(self, job: Job) -> None:
        for whose in ((job.account,), (job.account, job.user)):
            self._of.setdefault(whose, Counter()).update({**job.asks, "jobs": 1.0})

    def leave_room(self, job: Job, limits: Limits) -> bool:
        """Return whether no limit of the account, those above it or the user is in the way of one job more."""
        account, user = limits.accounts.get(job.account), limits.users.get((job.account, job.user))
        if account is None or not parents_allow(job, limits):
            return False
        whose = [((job.account,), account), *([((job.account, job.user), user)] if user else [])]
        return not any(self._beside(key, limit).short(job.asks) for key, limit in whose)

    def _beside(self, whose: tuple[str, ...], limit: Limit) -> Limit:
        ours = self._of.get(whose, Counter())
        return Limit(limit.most, {key: limit.used.get(key, 0) + ours[key] for key in {*limit.used, *ours}})
