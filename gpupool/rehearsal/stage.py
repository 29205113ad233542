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
class Sent:
    """Submitted jobs: the request of each job number, and refused requests with sbatch's messages; Unix time `at`."""

    requests: Mapping[str, JobRequest]
    refused: Sequence[tuple[JobRequest, str]] = ()
    at: float = 0.0

    def __or__(self, other: "Sent") -> "Sent":
        """Return the jobs and refusals of both."""
        return Sent({**self.requests, **other.requests}, (*self.refused, *other.refused), max(self.at, other.at))

    @property
    def gpus(self) -> int:
        """Return the number of requested GPUs."""
        return sum(request.gpus * request.count for request in self.requests.values())


@dataclass(frozen=True)
class Scene:
    """All jobs at one moment."""

    jobs: Sequence[Job]

    def of(self, sent: Sent) -> list[Job]:
        """Return the jobs of `sent` that have not ended."""
        return [job for job in self.jobs if job.array in sent.requests]

    def running(self, sent: Sent) -> list[Job]:
        """Return the running jobs of `sent`."""
        return [job for job in self.of(sent) if job.state in RUNS]

    def pending(self, sent: Sent) -> list[Job]:
        """Return the pending jobs of `sent`."""
        return [job for job in self.of(sent) if job.state == "PENDING"]

    def evicted(self, sent: Sent) -> list[Job]:
        """Return the jobs of `sent` that were preempted and are pending again."""
        return [job for job in self.pending(sent) if job.restarts]

    def gpus(self, sent: Sent) -> int:
        """Return the number of GPUs that jobs of `sent` hold."""
        return sum(job.gpus for job in self.running(sent))

    def reasons(self, sent: Sent) -> str:
        """Return squeue's reasons of the pending jobs of `sent`."""
        reasons = sorted({job.reason for job in self.pending(sent) if job.reason not in ("", "None")})
        return ", ".join(reasons) or "no reason given"


@dataclass
class Passed:
    """Results and running jobs of earlier promises that later ones use.

    `waits` has the seconds that owners' jobs waited beyond the grace time; `reclaimed_each` is whether the promise
    `reclaim-each` was tested. `borrowers` are jobs on borrowed GPUs, `claims` the owners' jobs by lab, `timeout` is the
    job that runs into its time limit.
    """

    waits: list[float] = field(default_factory=list)
    reclaimed_each: bool = False
    borrowers: Sent | None = None
    claims: dict[str, Sent] = field(default_factory=dict)
    timeout: Sent | None = None

    @property
    def spared(self) -> set[str]:
        """Return the numbers of jobs that keep running during tests of other promises."""
        return {*self.timeout.requests} if self.timeout else set()


class Stage:
    """A twin for tests of promises: it submits jobs, looks at them, and waits.

    `watch` records each look; `passed` has results and jobs for later promises.
    """

    def __init__(self, twin: Twin, expected: Expected) -> None:
        self.twin = twin
        self.expected = expected
        self.watch = Watch(expected)
        self.passed = Passed()

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

    def send(self, requests: Iterable[JobRequest], body: str = HOLD) -> Sent:
        """Submit jobs; a request with a count above 1 is an array."""
        wanted = [request for request in requests if request.count]
        asks = []
        for request in wanted:
            array = (f"--array=1-{request.count}",) if request.count > 1 else ()
            asks.append(Ask(request.user, (*request.options, *array), body))
        answers = self.twin.submit(asks) if asks else []
        pairs = list(zip(wanted, answers, strict=True))
        return Sent(
            {answer: request for request, answer in pairs if isinstance(answer, str)},
            [(request, answer.message) for request, answer in pairs if isinstance(answer, Refusal)],
            time.time(),
        )

    def look(self) -> Scene:
        """Return all jobs at this moment, and record them in `watch`."""
        scene = Scene(self.twin.jobs())
        self.watch.record(scene.jobs)
        return scene

    def until(self, true: Callable[[Scene], bool], seconds: float) -> tuple[bool, Scene]:
        """Look until a condition is true, for at most `seconds`; return whether it is, and the last scene.

        On a slow machine, `seconds` are multiplied by its pace. Looks become rarer with time, because each costs some
        20 ms of CPU.
        """
        return self._until(true, seconds, _SELDOM)

    def steady(self, true: Callable[[Scene], bool], seconds: float) -> tuple[bool, Scene]:
        """Look for `seconds` whether a condition stays true; return whether it did, and the last scene."""
        broken, scene = self._until(lambda scene: not true(scene), seconds, _LOOK)
        return not broken, scene

    def _until(self, true: Callable[[Scene], bool], seconds: float, seldom: float) -> tuple[bool, Scene]:
        began = time.monotonic()
        end = began + seconds
        while True:
            scene = self.look()
            if true(scene):
                return True, scene
            if time.monotonic() >= end:
                end = began + seconds * self.twin.pace()
                if time.monotonic() >= end:
                    return False, scene
            time.sleep(min(max(_LOOK, (time.monotonic() - began) / 10), seldom))

    def cancel(self, *sents: Sent) -> None:
        """Cancel jobs, and wait until they have ended."""
        self._cancel({number for sent in sents for number in sent.requests}, sum(sent.gpus for sent in sents))

    def empty(self) -> None:
        """Cancel all jobs except those in `passed.spared`."""
        numbers = {job.array for job in self.look().jobs} - self.passed.spared
        self._cancel(numbers, len(numbers))
        self.passed.borrowers, self.passed.claims = None, {}

    def _cancel(self, numbers: set[str], jobs: int) -> None:
        if numbers:
            self.twin.run(f"scancel {' '.join(sorted(numbers))}")
            self.until(lambda scene: numbers.isdisjoint(job.array for job in scene.jobs), self.patience(jobs) + CYCLE)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
