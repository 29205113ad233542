"""The price of maintenance for users: jobs that it waits for, and hours in which nodes accept no other job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpupool.slurm.jobs import Job


@dataclass(frozen=True)
class Price:
    """The number of jobs to wait for, and the hours until nodes have no job, at most, summed over the nodes.

    `endless` are nodes with a job without a time limit, whose hours are unknown.
    """

    jobs: int = 0
    hours: float = 0.0
    endless: tuple[str, ...] = ()


def price_of(busy: Mapping[str, Sequence[Job]], ends: Mapping[str, int], now: float) -> Price:
    """Return the price of a drain of these nodes now, from the jobs of each node and their ends (Unix time)."""
    hours, endless = 0.0, []
    for name, jobs in busy.items():
        if any(job.id not in ends for job in jobs):
            endless.append(name)
        hours += max((max(0.0, ends[job.id] - now) for job in jobs if job.id in ends), default=0.0) / 3600
    return Price(len({job.id for jobs in busy.values() for job in jobs}), hours, tuple(endless))
