"""The stage for tests of promises on a twin: submit jobs, look at them, and wait for them with a time limit."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.twin import Twin
from gpupool.rehearsal.twin.jobs import HOLD, RUNS, Ask, Job, Refusal
from gpupool.rehearsal.watch import Watch

CYCLE = 30  # seconds between slurmctld's checks of time limits and grace times
DELAY = 20  # seconds within which the scheduler does immediate work
_LOOK = 0.4  # seconds between two looks
_SELDOM = 3.0  # seconds between two looks after a long wait


@dataclass(frozen=True)
class SubmittedJobs:
    """Submitted jobs: the request of each job number, and refused requests with sbatch's messages; Unix time `at`."""

    requests: Mapping[str, JobRequest]
    refused: Sequence[tuple[JobRequest, str]] = ()
    at: float = 0.0

    def __or__(self, other: "SubmittedJobs") -> "SubmittedJobs":
        """Return the jobs and refusals of both."""
        return SubmittedJobs(
            {**self.requests, **other.requests}, (*self.refused, *other.refused), max(self.at, other.at)
        )

    @property
    def gpus(self) -> int:
        """Return the number of requested GPUs."""
        return sum(request.gpus * request.count for request in self.requests.values())


@dataclass(frozen=True)
class QueueSnapshot:
    """All jobs at one moment."""

    jobs: Sequence[Job]

    def of(self, submitted: SubmittedJobs) -> list[Job]:
        """Return the jobs of `submitted` that have not ended."""
        return [job for job in self.jobs if job.array in submitted.requests]

    def running(self, submitted: SubmittedJobs) -> list[Job]:
        """Return the running jobs of `submitted`."""
        return [job for job in self.of(submitted) if job.state in RUNS]

    def pending(self, submitted: SubmittedJobs) -> list[Job]:
        """Return the pending jobs of `submitted`."""
        return [job for job in self.of(submitted) if job.state == "PENDING"]

    def evicted(self, submitted: SubmittedJobs) -> list[Job]:
        """Return the jobs of `submitted` that were preempted and are pending again."""
        return [job for job in self.pending(submitted) if job.restarts]

    def gpus(self, submitted: SubmittedJobs) -> int:
        """Return the number of GPUs that jobs of `submitted` hold."""
        return sum(job.gpus for job in self.running(submitted))

    def reasons(self, submitted: SubmittedJobs) -> str:
        """Return squeue's reasons of the pending jobs of `submitted`."""
        reasons = sorted({job.reason for job in self.pending(submitted) if job.reason not in ("", "None")})
        return ", ".join(reasons) or "no reason given"


@dataclass
class EarlierResults:
    """Results and running jobs of earlier promises that later ones use.

    `waits` has the seconds that owners' jobs waited beyond the grace time; `reclaimed_each` is whether the promise
    `reclaim-each` was tested. `borrowers` are jobs on borrowed GPUs, `claims` the owners' jobs by lab, `timeout` is the
    job that runs into its time limit.
    """

    waits: list[float] = field(default_factory=list)
    reclaimed_each: bool = False
    borrowers: SubmittedJobs | None = None
    claims: dict[str, SubmittedJobs] = field(default_factory=dict)
    timeout: SubmittedJobs | None = None

    @property
    def spared(self) -> set[str]:
        """Return the numbers of jobs that keep running during tests of other promises."""
        return {*self.timeout.requests} if self.timeout else set()


class Stage:
    """A twin for tests of promises: it submits jobs, looks at them, and waits.

    `watch` records each look; `earlier` has results and jobs for later promises.
    """

    def __init__(self, twin: Twin, expected: Expected) -> None:
        self.twin = twin
        self.expected = expected
        self.watch = Watch(expected)
        self.earlier = EarlierResults()

    @property
    def grace(self) -> int:
        """Return the grace time of a preempted job on the twin, in seconds."""
        return self.twin.times.get("grace", 0)

    @property
    def requeue(self) -> int:
        """Return the seconds on the twin from a job's preemption until it may run again."""
        return self.twin.times.get("requeue", 121)

    def patience(self, jobs: int = 1, *, evicts: bool = False, again: bool = False) -> float:
        """Return the seconds within which so many jobs must start; `evicts` adds a preemption, `again` a requeue."""
        return DELAY + jobs / 6 + (self.grace + CYCLE) * evicts + (self.requeue + CYCLE) * again

    def submit(self, requests: Iterable[JobRequest], body: str = HOLD) -> SubmittedJobs:
        """Submit jobs; a request with a count above 1 is an array."""
        wanted = [request for request in requests if request.count]
        asks = []
        for request in wanted:
            array = (f"--array=1-{request.count}",) if request.count > 1 else ()
            asks.append(Ask(request.user, (*request.options, *array), body))
        answers = self.twin.submit(asks) if asks else []
        pairs = list(zip(wanted, answers, strict=True))
        return SubmittedJobs(
            {answer: request for request, answer in pairs if isinstance(answer, str)},
            [(request, answer.message) for request, answer in pairs if isinstance(answer, Refusal)],
            time.time(),
        )

    def look(self) -> QueueSnapshot:
        """Return all jobs at this moment, and record them in `watch`."""
        snapshot = QueueSnapshot(self.twin.jobs())
        self.watch.record(snapshot.jobs)
        return snapshot

    def until(self, true: Callable[[QueueSnapshot], bool], seconds: float) -> tuple[bool, QueueSnapshot]:
        """Look until a condition is true, for at most `seconds`; return whether it is, and the last snapshot.

        On a slow machine, `seconds` are multiplied by its pace. Looks become rarer with time, because each costs some
        20 ms of CPU.
        """
        return self._until(true, seconds, _SELDOM)

    def steady(self, true: Callable[[QueueSnapshot], bool], seconds: float) -> tuple[bool, QueueSnapshot]:
        """Look for `seconds` whether a condition stays true; return whether it did, and the last snapshot."""
        broken, snapshot = self._until(lambda snapshot: not true(snapshot), seconds, _LOOK)
        return not broken, snapshot

    def _until(
        self, true: Callable[[QueueSnapshot], bool], seconds: float, seldom: float
    ) -> tuple[bool, QueueSnapshot]:
        began = time.monotonic()
        end = began + seconds
        while True:
            snapshot = self.look()
            if true(snapshot):
                return True, snapshot
            if time.monotonic() >= end:
                end = began + seconds * self.twin.pace()
                if time.monotonic() >= end:
                    return False, snapshot
            time.sleep(min(max(_LOOK, (time.monotonic() - began) / 10), seldom))

    def cancel(self, *batches: SubmittedJobs) -> None:
        """Cancel jobs, and wait until they have ended."""
        self._cancel(
            {number for submitted in batches for number in submitted.requests},
            sum(submitted.gpus for submitted in batches),
        )

    def empty(self) -> None:
        """Cancel all jobs except those in `earlier.spared`."""
        numbers = {job.array for job in self.look().jobs} - self.earlier.spared
        self._cancel(numbers, len(numbers))
        self.earlier.borrowers, self.earlier.claims = None, {}

    def _cancel(self, numbers: set[str], jobs: int) -> None:
        if numbers:
            self.twin.run(f"scancel {' '.join(sorted(numbers))}")
            self.until(
                lambda snapshot: numbers.isdisjoint(job.array for job in snapshot.jobs), self.patience(jobs) + CYCLE
            )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
