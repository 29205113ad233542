"""What a rehearsal finds: one line a promise, and who held which GPUs at each moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

# void: tried, and the inventory leaves a hole; not made: neither the inventory nor this Slurm makes the promise
Outcome = Literal["kept", "broken", "void", "not made"]


@dataclass(frozen=True)
class Finding:
    """A promise, what was tried and what happened, in a lab head's words; `seconds` it took.

    `promise` is its key (`cap`), `text` what it says, `requirements` the numbers of the users' promises it shows.
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
    """GPUs by lab, `at` seconds after the start, while `promise` was tried.

    `owned`: held by jobs that nobody can evict; `borrowed`: by jobs that give way; `evicted`: asked for by jobs that
    had to give way and wait to run again. `idle` and `down` are nobody's.
    """

    at: float
    promise: str
    owned: Mapping[str, int]
    borrowed: Mapping[str, int]
    evicted: Mapping[str, int]
    idle: int
    down: int = 0
