"""Where promises are tried: one twin; jobs are sent, looked at and waited for, never longer than its own numbers."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.expected_claims import Wish
from gpupool.rehearsal.finding import Moment
from gpupool.rehearsal.twin import Twin
from gpupool.rehearsal.twin.jobs import HOLD, Ask, Job, Refusal

RUNS = ("RUNNING", "CONFIGURING")
CYCLE = 30  # seconds: slurmctld looks at time limits and at the end of grace times this often
DELAY = 20  # seconds that the scheduler is given for what it does at once
_LOOK = 0.4  # seconds between two looks
_SELDOM = 3.0  # seconds between two looks at what has not come for long


@dataclass(frozen=True)
class Sent:
    """Jobs that were handed in: what each number was a wish for, and what sbatch refused, in its words."""

    wishes: Mapping[str, Wish]
    refused: Sequence[tuple[Wish, str]] = ()
    at: float = 0.0

    def __or__(self, other: "Sent") -> "Sent":
        """Return both together."""
        return Sent({**self.wishes, **other.wishes}, (*self.refused, *other.refused), max(self.at, other.at))

    @property
    def gpus(self) -> int:
        """GPUs that were asked for."""
        return sum(it.gpus * it.count for it in self.wishes.values())


@dataclass(frozen=True)
class Scene:
    """All jobs at one moment."""

    jobs: Sequence[Job]

    def of(self, sent: Sent) -> list[Job]:
        """Return those jobs that were sent together and have not ended."""
        return [job for job in self.jobs if job.array in sent.wishes]

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
class Stage:
    """A twin with its promises: sends jobs, looks, waits, and remembers who held what.

    `owned` has the first start of every job that nobody may evict; `disturbed` says which of them were all the same.
    """

    twin: Twin
    expected: Expected
    trying: str = ""
    moments: list[Moment] = field(default_factory=list)
    owned: dict[str, float | None] = field(default_factory=dict)
    disturbed: dict[str, str] = field(default_factory=dict)
    spared: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    waits: list[float] = field(default_factory=list)
    tried_each: bool = False
    begun: dict[str, Sent] = field(default_factory=dict)
    crowd: Sent | None = None
    claims: dict[str, Sent] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

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

    def send(self, wishes: Iterable[Wish], body: str = HOLD) -> Sent:
        """Hand in jobs; many alike as one array."""
        wanted = [it for it in wishes if it.count]
        asks = []
        for wish in wanted:
            array = (f"--array=1-{wish.count}",) if wish.count > 1 else ()
            asks.append(Ask(wish.user, (*wish.options, *array), body))
        answers = self.twin.submit(asks) if asks else []
        pairs = list(zip(wanted, answers, strict=True))
        return Sent(
            {answer: wish for wish, answer in pairs if isinstance(answer, str)},
            [(wish, answer.message) for wish, answer in pairs if isinstance(answer, Refusal)],
            time.time(),
        )

    def look(self) -> Scene:
        """Return all jobs as they are now, and remember the moment."""
        scene = Scene(self.twin.jobs())
        self._watch(scene)
        self.moments.append(self._moment(scene))
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
        ids = [number for sent in sents for number in sent.wishes]
        if not ids:
            return
        self.twin.run(f"scancel {' '.join(ids)}")
        gone = Sent({number: wish for sent in sents for number, wish in sent.wishes.items()})
        self.until(lambda scene: not scene.of(gone), self.patience(gone.gpus) + CYCLE)

    def empty(self) -> None:
        """Cancel all jobs but those that are spared."""
        ids = {job.array for job in self.look().jobs} - self.spared
        wish = Wish("", "", "", "")
        self.cancel(Sent(dict.fromkeys(sorted(ids), wish)))
        self.crowd, self.claims = None, {}

    def _watch(self, scene: Scene) -> None:
        owners = {it.name for it in self.expected.owners}
        for job in scene.jobs:
            if job.partition in owners and job.state in RUNS:
                known = self.owned.setdefault(job.id, job.start)
                if self.lost:
                    self.owned[job.id] = job.start
                elif known != job.start:
                    self.disturbed[job.id] = f"{job.id} of {job.user} in {job.partition} was started again"
            elif job.id in self.owned and job.state == "PENDING" and not self.lost:
                self.disturbed[job.id] = f"{job.id} of {job.user} was preempted ({job.reason})"

    def _moment(self, scene: Scene) -> Moment:
        giving = {it.name for it in self.expected.givers}
        owned: dict[str, int] = {}
        borrowed: dict[str, int] = {}
        evicted: dict[str, int] = {}
        for job in scene.jobs:
            user = self.expected.cluster.users.get(job.user)
            lab = user.account if user and job.account not in user.own_accounts else job.account
            if job.state == "PENDING" and job.restarts:
                evicted[lab] = evicted.get(lab, 0) + job.gpus
            elif job.state in RUNS:
                held = borrowed if job.partition in giving else owned
                held[lab] = held.get(lab, 0) + job.gpus
        down = sum(self.expected.cluster.nodes[it].gpu_count for it in self.lost)
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


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all is at or below."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
