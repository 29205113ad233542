"""The class of a promise: its text, whether an inventory makes it, and its test."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gpupool.rehearsal.expected import Expected
from gpupool.rehearsal.finding import Outcome
from gpupool.rehearsal.stage import Stage


@dataclass(frozen=True)
class Verdict:
    """The outcome of a promise: what was tried and what happened, in plain words for users."""

    tried: str
    happened: str
    outcome: Outcome = "kept"


@dataclass(frozen=True)
class Promise:
    """A promise; `not_made_because` returns why an inventory does not make it, or None; `begin` starts a long job."""

    key: str
    text: str
    requirements: tuple[str, ...]
    not_made_because: Callable[[Expected], str | None]
    try_it: Callable[[Stage], Verdict]
    begin: Callable[[Stage], None] | None = None


def kept(tried: str, happened: str) -> Verdict:
    """Return the verdict of a kept promise."""
    return Verdict(tried, happened)


def broken(tried: str, happened: str) -> Verdict:
    """Return the verdict of a broken promise."""
    return Verdict(tried, happened, "broken")


def verdict(tried: str, wrong: Iterable[str], happened: str) -> Verdict:
    """Return `broken` with the texts in `wrong`, or `kept` with `happened` if there are none."""
    message = some(wrong)
    return broken(tried, message) if message else kept(tried, happened)


def some(texts: Iterable[str], most: int = 4) -> str:
    """Return the first `most` texts joined, and the number of the others."""
    shown = list(texts)
    more = len(shown) - most
    return "; ".join([*shown[:most], *([f"and {more} more"] if more > 0 else [])])


def with_labs(expected: Expected) -> str | None:
    """Return why nothing is guaranteed to labs, or None."""
    return None if expected.labs else "no account with a GPU cap has users"


def with_loans(expected: Expected) -> str | None:
    """Return why no user can use GPUs beyond a cap, or None."""
    return with_labs(expected) or (
        None if expected.loans else "no preemptable partition is open to an uncapped account"
    )
