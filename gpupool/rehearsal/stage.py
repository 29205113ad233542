"""Where promises are tried: one twin; jobs are sent, looked at and waited for, never longer than its own numbers."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import JobRequest
from gpupool.rehearsal.twin import Twin
from gpupool.rehearsal.twin.jobs import HOLD, RUNS, Ask, Job, Refusal
from gpupool.rehearsal.watch import Watch

CYCLE = 30  # seconds: slurmctld looks at time limits and at the end of grace times this often
DELAY = 20  # seconds that the scheduler is given for what it does at once
_LOOK = 0.4  # seconds between two looks
_SELDOM = 3.0  # seconds between two looks at what has not come for long


@dataclass(frozen=True)
class Sent:
    """Jobs that were handed in: what each number was a request for, and what sbatch refused, in its words."""

    requests: Mapping[str, JobRequest]
    refused: Sequence[tuple[JobRequest, str]] = ()
    at: float = 0.0

    def __or__(self, other: "Sent") -> "Sent":
        """Return both together."""
        return Sent({**self.requests, **other.requests}, (*self.refused, *other.refused), max(self.at, other.at))

    @property
    def gpus(self) -> int:
        """GPUs that were asked for."""
        return sum(request.gpus * request.count for request in self.requests.values())


@dataclass(frozen=True)
class Scene:
    """All jobs at one moment."""

    jobs: Sequence[Job]

    def of(self, sent: Sent) -> list[Job]:
        """Return those jobs that were sent together and have not ended."""
        return [job for job in self.jobs if job.array in sent.requests]

    def running(self, sent: Sent) -> list[Job]:
        """Return those of them that run."""
        return [job for job in self.of(sent) if job.state in RUNS]

    def pending(self, sent: Sent) -> list[Job]:
        """Return those of them that wait."""
        return [job for job in self.of(sent) if job.state == "PENDING"]

    def evicted(self, sent: Sent) -> list[Job]:
        """Return those of them that ran, had to go and wait to run again."""
        return [job for job in self.pending(sent) if job.restarts]

    def gpus(self, sent: Sent) -> int:
        """GPUs that they hold."""
        return sum(job.gpus for job in self.running(sent))

    def reasons(self, sent: Sent) -> str:
        """Say why those that wait do, as squeue has it."""
        reasons = sorted({job.reason for job in self.pending(sent) if job.reason not in ("", "None")})
        return ", ".join(reasons) or "no reason given"


@dataclass
class Passed:
    """Results and running jobs of earlier promises that later ones use.

    `waits` has the seconds that owners' jobs waited beyond the grace time; `reclaimed_each` is whether each lab has
    reclaimed its cap. `borrowers` hold borrowed GPUs, `claims` the GPUs of labs, `timeout` runs into its time limit.
    """

    waits: list[float] = field(default_factory=list)
    reclaimed_each: bool = False
    borrowers: Sent | None = None
    claims: dict[str, Sent] = field(default_factory=dict)
    timeout: Sent | None = None

    @property
    def spared(self) -> set[str]:
        """The numbers of jobs that run on while other promises are tried."""
        return {*self.timeout.requests} if self.timeout else set()


class Stage:
    """A twin on which promises are tried: sends jobs, looks, and waits.

    `watch` records each look; `passed` is what one promise leaves for the next.
    """

    def __init__(self, twin: Twin, expected: Expected) -> None:
        self.twin = twin
        self.expected = expected
        self.watch = Watch(expected)
        self.passed = Passed()

    @property
    def grace(self) -> int:
        """Seconds that an evicted job has here."""
        return self.twin.times.get("grace", 0)

    @property
    def requeue(self) -> int:
        """Seconds from a job's eviction until it may run again here."""
        return self.twin.times.get("requeue", 121)

    def patience(self, jobs: int = 1, *, evicts: bool = False, again: bool = False) -> float:
        """Seconds that so many jobs may take to start, after others had to go, or again after they went."""
        return DELAY + jobs / 6 + (self.grace + CYCLE) * evicts + (self.requeue + CYCLE) * again

    def send(self, requests: Iterable[JobRequest], body: str = HOLD) -> Sent:
        """Hand in jobs; many alike as one array."""
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
        """Return all jobs as they are now, and remember the moment."""
        scene = Scene(self.twin.jobs())
        self.watch.record(scene.jobs)
        return scene

    def until(self, true: Callable[[Scene], bool], seconds: float) -> tuple[bool, Scene]:
        """Look until something is true, so many seconds at most; tell whether it is, and what was seen last.

        A machine that is slow now gets more of them: as many times more as it is slower. The longer it lasts the rarer
        the looks are: each costs slurmctld, and whatever else runs here, some 20 ms of CPU.
        """
        return self._until(true, seconds, _SELDOM)

    def steady(self, true: Callable[[Scene], bool], seconds: float) -> tuple[bool, Scene]:
        """Look so many seconds whether something stays true; tell whether it did, and what was seen last."""
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
        """Cancel jobs, and return when they are gone."""
        self._cancel({number for sent in sents for number in sent.requests}, sum(sent.gpus for sent in sents))

    def empty(self) -> None:
        """Cancel all jobs but those that are spared."""
        numbers = {job.array for job in self.look().jobs} - self.passed.spared
        self._cancel(numbers, len(numbers))
        self.passed.borrowers, self.passed.claims = None, {}

    def _cancel(self, numbers: set[str], jobs: int) -> None:
        if numbers:
            self.twin.run(f"scancel {' '.join(sorted(numbers))}")
            self.until(lambda scene: numbers.isdisjoint(job.array for job in scene.jobs), self.patience(jobs) + CYCLE)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all is at or below."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
