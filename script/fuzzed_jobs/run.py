"""A run: cases are submitted, looked at, and cancelled as soon as enough is known of them."""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .cases import Case, Step
from .invariants import Invariants, Violation
from .inventory import PROBE_USER
from .reckoning import Row, row
from .talk import Inside

AT_ONCE = 80  # cases
PATIENCE = 8.0  # seconds after which a case without a running job is cancelled
HOPELESS = 3.0  # the same where every job of it waits for what will not come
LONGEST = 40.0  # seconds after which every case is cancelled whose jobs hold no more than they may
AGAIN = 10.0  # seconds after which a job is cancelled once more
PROBE_EVERY = 12.0
_MARK = "[gpupool-guard"
_NEVER = frozenset(
    ("JobHeldUser", "JobHeldAdmin", "BadConstraints", "BeginTime", "Dependency", "DependencyNeverSatisfied", "Licenses")
)
_LAST = 6  # cases that are shown where slurmctld stops to answer


@dataclass
class Watched:
    """A case under way. Times are by the invariants' clock; `known` is that of its answer, and `at` the same by the
    container's clock.
    """

    case: Case
    sent: float
    known: float | None = None
    at: float = 0.0
    job: str = ""
    seen: dict[str, float] = field(default_factory=dict)
    cancelled: dict[str, float] = field(default_factory=dict)
    held: bool = False


@dataclass
class Outcome:
    """The result of a run."""

    counts: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    cases: dict[str, list[Case]] = field(default_factory=dict)
    longest: float = 0.0
    probe: float = 0.0
    seconds: float = 0.0


class Run:
    """A run of cases on a twin. With `legal`, whatever ends or holds a job is an alarm."""

    def __init__(
        self,
        inside: Inside,
        invariants: Invariants,
        make: Callable[[int], Case],
        *,
        legal: bool = False,
        probe_bound: float,
        tell: Callable[[str], None],
    ) -> None:
        """Set the parts of the run."""
        self.inside, self.invariants, self.make, self.legal = inside, invariants, make, legal
        self.probe_bound, self.tell = probe_bound, tell
        self.outcome = Outcome()
        self.active: dict[int, Watched] = {}
        self.by_job: dict[str, int] = {}
        self.next = 1
        self.tasks = 0
        self.probed = -PROBE_EVERY
        self.began = self.shown = time.monotonic()
        self.recent: deque[Case] = deque(maxlen=_LAST)
        self.stop: Callable[[Outcome], bool] = lambda _: False

    def until(self, most: int, only: Sequence[int] | None = None) -> Outcome:
        """Run until `most` jobs were submitted and all have ended; with `only`, run just the cases of these numbers."""
        if only:
            most = 0
            for number in only:
                self._submit(self.make(number))
        while self.tasks < most or self.active:
            if self.stop(self.outcome) or "slurmctld" in self.outcome.cases:
                break
            while self.tasks < most and len(self.active) < AT_ONCE:
                self._submit(self.make(self.next))
                self.next += 1
            message = self.inside.message(300)
            if message is None:
                raise RuntimeError("the cluster shows nothing for 300 s")
            if "look" in message:
                self._look(message)
                self._progress(most)
            else:
                self._answer(message)
        self.outcome.seconds = time.monotonic() - self.began
        self.outcome.longest = self.invariants.longest
        self.outcome.counts["excesses"] = self.invariants.excesses
        self.outcome.counts["jobs"] = self.tasks
        return self.outcome

    def _submit(self, case: Case) -> None:
        self.tasks += case.tasks
        self.active[case.number] = Watched(case, self.invariants.clock)
        self.inside.submit(case)

    def _answer(self, message: dict[str, Any]) -> None:
        watched = self.active[message["case"]]
        watched.known, watched.at, watched.job = self.invariants.clock, float(message["at"]), message["job"]
        answers = message["answers"]
        for answer, step in zip(answers, watched.case.steps, strict=False):
            self.outcome.counts["commands"] += 1
            kind = "changes" if step is not watched.case.steps[0] else "submissions"
            self.outcome.counts[f"{kind} {'refused' if answer['code'] else 'accepted'}"] += 1
            if answer["code"]:
                self.outcome.refusals[answer["err"].strip().rpartition("\n")[2][:100]] += 1
            if answer["code"] == -9:
                self._violate("slurmctld", "a command had no answer", step.shown(), answer["took"], watched)
            if answer["code"] and self.legal and watched.case.number > 0:
                self.outcome.alarms.append(f"refused: {step.shown()}: {answer['err'].strip()}")
        if watched.job:
            self.by_job[watched.job] = message["case"]
            if not self.invariants.is_silent:
                self.recent.append(watched.case)
        else:
            del self.active[message["case"]]

    def _look(self, look: dict[str, Any]) -> None:
        rows = [row(values) for values in look["rows"] or ()]
        known = len(self.invariants.violations)
        wrong = self.invariants.look(look, rows)
        for violation in self.invariants.violations[known:]:
            self.outcome.violations.append(violation)
            self.tell(f"violation: {violation.subject}: {violation.text}")
            if violation.subject == "slurmctld":
                self.outcome.cases[violation.subject] = [*self.recent]
            elif (number := self.by_job.get(violation.case, 0)) > 0:
                self.outcome.cases[violation.subject] = [self.make(number)]
        if look["rows"] is None:
            return
        of_case: dict[int, list[Row]] = {}
        for job in rows:
            if mine := self.by_job.get(job.case):
                of_case.setdefault(mine, []).append(job)
        cancel: list[str] = []
        for number, watched in [*self.active.items()]:
            # an older look shows the jobs before their last change
            if watched.known is not None and float(look["look"]) > watched.at:
                cancel += self._case(watched, of_case.get(number, []), wrong)
        if cancel:
            self.inside.cancel(cancel)
        self._probe()

    def _case(self, watched: Watched, rows: list[Row], wrong: set[str]) -> list[str]:
        """Take the rows of a case; return the jobs to cancel."""
        clock = self.invariants.clock
        assert watched.known is not None
        if not rows:
            self._ended(watched)
            return []
        for job in rows:
            if job.holds and job.job not in watched.seen:
                watched.seen[job.job] = clock
                self.outcome.counts["started"] += 1
            if _MARK in job.note and not watched.held:
                watched.held = True
                self.outcome.counts["held by the guard"] += 1
            if self.legal and watched.case.number > 0:
                self._alarm(watched, job)
        if watched.case.number < 0:
            return self._of_probe(watched, rows)
        age = clock - watched.known
        running = [job for job in rows if job.holds]
        done = [
            job.job for job in running if job.job not in wrong and clock - watched.seen[job.job] >= watched.case.stay
        ]
        patience = HOPELESS if all(job.reason in _NEVER for job in rows) else PATIENCE
        over = (not running and (age > patience or watched.held)) or age > LONGEST
        if over and not any(job.job in wrong for job in rows):
            done.append(watched.job)
        return self._once(watched, done)

    def _once(self, watched: Watched, jobs: list[str]) -> list[str]:
        clock = self.invariants.clock
        some = [job for job in jobs if clock - watched.cancelled.get(job, -AGAIN) >= AGAIN]
        watched.cancelled |= dict.fromkeys(some, clock)
        return some

    def _alarm(self, watched: Watched, job: Row) -> None:
        text = ""
        if _MARK in job.note:
            text = f"the guard acted: {job.note}"
        elif job.restarts and job.partition not in ("overcap", "user-overcap"):
            text = f"requeued: {job.reason}"
        elif job.state == "PENDING" and job.reason in ("JobHeldAdmin", "JobHeldUser", "job requeued in held state"):
            text = f"held: {job.reason}"
        if text and job.job not in watched.cancelled and watched.job not in watched.cancelled and not watched.held:
            watched.held = True
            self.outcome.alarms.append(f"job {job.job} of {watched.case.steps[0].shown()}: {text}")

    def _ended(self, watched: Watched) -> None:
        number = watched.case.number
        del self.active[number]
        if number < 0:
            return
        self.outcome.counts["cases ended"] += 1
        if self.legal and not watched.cancelled:
            self.outcome.alarms.append(f"ended by another: job {watched.job} of {watched.case.steps[0].shown()}")

    def _probe(self) -> None:
        """Submit a job of the probed lab, if none is under way."""
        clock = self.invariants.clock
        if clock - self.probed < PROBE_EVERY or any(number < 0 for number in self.active):
            return
        self.probed = clock
        self.outcome.counts["probes"] += 1
        array = ["--array=0-3"] if self.outcome.counts["probes"] % 3 == 0 else []
        argv = ["sbatch", "--parsable", "-o", "/dev/null", "-p", "short", "-t", "60", "--gpus=1", *array]
        step = Step(PROBE_USER, argv, "#!/bin/sh\nexec sleep 600\n")
        case = Case(-self.outcome.counts["probes"], [step], tasks=0)
        self._submit(case)

    def _of_probe(self, watched: Watched, rows: list[Row]) -> list[str]:
        assert watched.known is not None
        waited = self.invariants.clock - watched.known
        if any(job.state == "PENDING" for job in rows) and watched.job not in watched.cancelled:
            if waited <= self.probe_bound:
                return []
            states = "; ".join(sorted({f"{job.state} {job.reason}" for job in rows}))
            self._violate("probe of an owner", f"it has not started: {states}", "", waited, watched)
        elif watched.job not in watched.cancelled:
            self.outcome.probe = max(self.outcome.probe, waited)
        return self._once(watched, [watched.job])

    def _violate(self, subject: str, text: str, held: str, seconds: float, watched: Watched) -> None:
        subject = f"{subject} {watched.case.number}"
        self.outcome.violations.append(Violation(subject, text, held, seconds, watched.job, watched.job))
        self.outcome.cases[subject] = [watched.case]

    def _progress(self, most: int) -> None:
        now = time.monotonic()
        if now - self.shown < 10:
            return
        self.shown = now
        counts = self.outcome.counts
        self.tell(
            f"{self.tasks} of {most} jobs in {now - self.began:.0f} s: {counts['started']} started, "
            f"{self.invariants.excesses} with too much, {counts['held by the guard']} held by the guard, "
            f"{len(self.outcome.violations)} violations, {len(self.outcome.alarms)} false alarms"
        )
