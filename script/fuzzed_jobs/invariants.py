"""The rules that each look at the cluster must keep, and the time for which one may be broken."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .reckoning import Reckoning, Row

_OPEN = frozenset({"idle", "mixed", "allocated", "completing", "planned"})
_LONGEST_GAP = 2.0


@dataclass(frozen=True)
class Violation:
    """A fault that lasted longer than the bound. `job` is the number of its job, if it has one; times are seconds."""

    subject: str
    text: str
    held: str
    seconds: float
    job: str = ""
    case: str = ""


@dataclass
class Invariants:
    """The faults of the looks so far.

    Time is counted in looks: a gap between two looks counts for 2 s at most, unless slurmctld gives no answer. A
    machine that is too busy to look is too busy to act. `bound` is the longest time for which a fault may last.
    """

    reckoning: Reckoning
    bound: float
    clock: float = 0.0
    violations: list[Violation] = field(default_factory=list)
    #: The longest time within the bound for which a job held more than it may.
    longest: float = 0.0
    excesses: int = 0
    _last: float = 0.0
    _since: dict[str, tuple[float, str]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    def look(self, look: Mapping[str, Any], jobs: list[Row]) -> set[str]:
        """Take a look; return the numbers of the jobs that hold more than they may."""
        now = float(look["look"])
        gap = now - self._last if self._last else 0.0
        self.clock += gap if look["rows"] is None else min(_LONGEST_GAP, gap)
        self._last = now
        faults = {fault.subject: fault for fault in (*self._jobs(jobs), *self._cluster(look))}
        for subject in [*self._since]:
            if subject not in faults:
                since, _ = self._since.pop(subject)
                if subject.startswith("job ") and subject not in self._told:
                    self.longest = max(self.longest, self.clock - since)
        for subject, fault in faults.items():
            self.excesses += subject.startswith("job ") and subject not in self._since
            since, held = self._since.setdefault(subject, (self.clock, fault.held))
            lasted = self.clock - since
            if lasted > self.bound and subject not in self._told:
                self._told.add(subject)
                self.violations.append(Violation(subject, fault.text, held, lasted, fault.job, fault.case))
        return {fault.job for fault in faults.values() if fault.job and fault.subject not in self._told}

    @property
    def is_silent(self) -> bool:
        """Whether slurmctld did not answer in the last look."""
        return "slurmctld" in self._since

    def _jobs(self, jobs: Iterable[Row]) -> Iterator[Violation]:
        some = list(jobs)
        for job in some:
            if job.state == "COMPLETING":
                yield Violation(f"end of {job.job}", "the job is COMPLETING", job.shown, 0, job.job, job.case)
            elif reasons := list(self.reckoning.excess(job)):
                subject = f"job {job.job}, run {job.restarts}"
                yield Violation(subject, "; ".join(reasons), job.shown, 0, job.job, job.case)
        for account, text in self.reckoning.of_accounts(some):
            held = "; ".join(f"{job.job}: {job.shown}" for job in some if job.holds and job.account == account)
            yield Violation(f"account {account}", text, held, 0)

    def _cluster(self, look: Mapping[str, Any]) -> Iterator[Violation]:
        if look["rows"] is None or not look["ping"]:
            yield Violation("slurmctld", "it does not answer", look["error"], 0)
        if not look["dbd"]:
            yield Violation("slurmdbd", "it does not answer", "", 0)
        status, at = look["status"]
        if float(look["look"]) - float(at) > self.bound or "doing nothing" in status:
            yield Violation("arbiter", "it does nothing", f"status {status!r}", 0)
        for node in look["nodes"] or ():
            name, _, state = node.partition("|")
            if state.rstrip("-") not in _OPEN:
                yield Violation(f"node {name}", f"it is closed to all jobs: {state}", "", 0)
