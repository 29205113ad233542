"""What a promise is: its words, whether an inventory makes it, and how it is tried."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.finding import Outcome
from gpupool.rehearsal.stage import Stage


@dataclass(frozen=True)
class Verdict:
    """What was tried and what happened, in a lab head's words."""

    tried: str
    happened: str
    outcome: Outcome = "kept"


@dataclass(frozen=True)
class Promise:
    """`not_made_because` gives the reason why an inventory does not make it, or None; `begin` starts a long job."""

    key: str
    text: str
    requirements: tuple[str, ...]
    not_made_because: Callable[[Expected], str | None]
    try_it: Callable[[Stage], Verdict]
    begin: Callable[[Stage], None] | None = None


def kept(tried: str, happened: str) -> Verdict:
    """Say that it held."""
    return Verdict(tried, happened)


def broken(tried: str, happened: str) -> Verdict:
    """Say that it did not hold, and what was seen instead."""
    return Verdict(tried, happened, "broken")


def verdict(tried: str, wrong: Iterable[str], happened: str) -> Verdict:
    """Say that it held as `happened` has it, unless something went wrong."""
    message = some(wrong)
    return broken(tried, message) if message else kept(tried, happened)


def some(texts: Iterable[str], most: int = 4) -> str:
    """Join texts; after a few, only count the rest."""
    shown = list(texts)
    more = len(shown) - most
    return "; ".join([*shown[:most], *([f"and {more} more"] if more > 0 else [])])


def count(number: int, noun: str) -> str:
    """Return `1 job`, `2 jobs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def with_labs(expected: Expected) -> str | None:
    """Say why nothing is guaranteed to labs."""
    return None if expected.labs else "no account with a GPU cap has users"


def with_loans(expected: Expected) -> str | None:
    """Say why nobody can use GPUs beyond a cap."""
    return with_labs(expected) or (
        None if expected.loans else "no preemptable partition is open to an uncapped account"
    )
