"""The results of a rehearsal: one finding for each promise, and the use of GPUs over time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# void: tested, but the inventory does not guarantee it; not made: the inventory or this Slurm makes no such promise
Outcome = Literal["kept", "broken", "void", "not made"]


@dataclass(frozen=True)
class Finding:
    """A promise, what was tried and what happened, in plain words for users; its test took `seconds`.

    `promise` is its key (`cap`), `text` its text, `requirements` the ids of the requirements that its test covers.
    """

    promise: str
    text: str
    tried: str
    happened: str
    outcome: Outcome
    seconds: float
    requirements: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moment:
    """GPUs by lab, `at` seconds after the start, during the test of `promise`.

    `owned`: held by jobs that are not preemptable; `borrowed`: by preemptable jobs; `evicted`: requested by preempted
    jobs that are pending again. `idle` and `down` are GPUs without a lab.
    """

    at: float
    promise: str
    owned: Mapping[str, int]
    borrowed: Mapping[str, int]
    evicted: Mapping[str, int]
    idle: int
    down: int = 0
