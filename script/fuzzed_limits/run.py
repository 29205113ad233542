"""Jobs on the twin of each random inventory: what slurmctld answers, beside what the inventory's words allow."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from gpupool.rehearsal.twin import Refusal, Twin

from .inventory import clusters
from .jobs import Job, jobs
from .reckoning import Reckoning

RANDOM_JOBS = 40  # of each cluster, beside the usual ones


@dataclass(frozen=True)
class Difference:
    """A job that slurmctld accepts against the inventory's words, or refuses against them."""

    job: Job
    reasons: Sequence[str]
    answer: str | Refusal

    def __str__(self) -> str:
        """Return the job and both answers in one line."""
        reckoned = "; ".join(self.reasons) or "accepted"
        answer = self.answer.message if isinstance(self.answer, Refusal) else f"accepted as job {self.answer}"
        return f"{self.job}   by the inventory: {reckoned}   by slurmctld: {answer}"


@dataclass
class Outcome:
    """The inventory of a number, with its number of accepted and refused jobs and the differences."""

    number: int
    accepted: int = 0
    refused: int = 0
    differences: list[Difference] = field(default_factory=list)


def compared(reckoning: Reckoning, asked: Sequence[Job], answers: Sequence[str | Refusal], number: int = 0) -> Outcome:
    """Compare slurmctld's answers about jobs with those of an inventory's words."""
    outcome = Outcome(number)
    for job, answer in zip(asked, answers, strict=True):
        is_refused, reasons = isinstance(answer, Refusal), reckoning.reasons(job)
        outcome.refused += is_refused
        outcome.accepted += not is_refused
        if bool(reasons) != is_refused:
            outcome.differences.append(Difference(job, reasons, answer))
    return outcome


def tried(seed: int, most: int, folder: Path) -> Iterator[Outcome]:
    """Yield the outcome of each of `most` clusters of a seed; the folder has the inventory meanwhile."""
    for number, made, cluster in islice(clusters(seed, folder), most):
        asked = list(jobs(made.data, made.pick, RANDOM_JOBS))
        with Twin.start(cluster) as twin:
            answers = twin.submit([job.ask for job in asked])
        yield compared(Reckoning(made.data), asked, answers, number)
