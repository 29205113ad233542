"""The record of a rehearsal: the GPUs of jobs at each look, and owners' jobs that were interrupted."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.finding import Moment
from gpupool.rehearsal.twin.jobs import RUNS, Job


@dataclass
class Watch:
    """The record of each look at the queue, with the promise in test (`trying`).

    `owner_starts` has the first start of every job that is not preemptable, by its number; `disturbed` has a message
    for each of them that was preempted or restarted. `lost` are the nodes that a promise has killed, `hostile` the jobs
    that the guard must stop, which have no owner's rights.
    """

    expected: Expected
    trying: str = ""
    moments: list[Moment] = field(default_factory=list)
    owner_starts: dict[str, float | None] = field(default_factory=dict)
    disturbed: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    hostile: set[str] = field(default_factory=set)
    began: float = field(default_factory=time.monotonic)

    def record(self, jobs: Sequence[Job]) -> None:
        """Record all jobs at this moment."""
        self._compare(jobs)
        self.moments.append(self._moment(jobs))

    def _compare(self, jobs: Sequence[Job]) -> None:
        owners = {partition.name for partition in self.expected.owner_partitions}
        for job in jobs:
            if job.id in self.hostile:
                continue
            if job.partition in owners and job.state in RUNS:
                first = self.owner_starts.setdefault(job.id, job.start)
                if self.lost:
                    self.owner_starts[job.id] = job.start
                elif first != job.start:
                    self.disturbed[job.id] = f"{job.id} of {job.user} in {job.partition} was started again"
            elif job.id in self.owner_starts and job.state == "PENDING" and not self.lost:
                self.disturbed[job.id] = f"{job.id} of {job.user} was preempted ({job.reason})"

    def _moment(self, jobs: Sequence[Job]) -> Moment:
        preemptable = {partition.name for partition in self.expected.preemptable}
        owned: dict[str, int] = {}
        borrowed: dict[str, int] = {}
        evicted: dict[str, int] = {}
        for job in jobs:
            user = self.expected.cluster.users.get(job.user)
            lab = user.account if user and job.account not in user.own_accounts else job.account
            if job.state == "PENDING" and job.restarts:
                evicted[lab] = evicted.get(lab, 0) + job.gpus
            elif job.state in RUNS:
                held = borrowed if job.partition in preemptable else owned
                held[lab] = held.get(lab, 0) + job.gpus
        down = sum(self.expected.cluster.nodes[name].gpu_count for name in self.lost)
        used = sum(owned.values()) + sum(borrowed.values())
        return Moment(
            round(time.monotonic() - self.began, 1),
            self.trying,
            {lab: gpus for lab, gpus in owned.items() if gpus},
            {lab: gpus for lab, gpus in borrowed.items() if gpus},
            {lab: gpus for lab, gpus in evicted.items() if gpus},
            max(0, self.expected.pool - used - down),
            down,
        )
