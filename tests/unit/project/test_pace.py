"""Waits in proportion to this machine's pace."""

from collections.abc import Callable, Iterator

import pace
import pytest


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets the seconds of a start; the limit of a wait is a tenth of that."""
    monkeypatch.setattr(pace, "_AT_LEAST", 0.0)
    monkeypatch.setattr(pace, "STARTS", 0.1)
    return lambda seconds: monkeypatch.setattr(pace, "start", lambda: seconds)


def looks(count: int) -> Iterator[str]:
    yield from [""] * count
    while True:
        yield "there"


def test_a_wait_returns_the_awaited_value(machine: Callable[[float], None]) -> None:
    machine(10)
    seen = looks(3)
    assert pace.until(lambda: next(seen), "it comes") == "there"


def test_a_wait_that_fails_names_the_awaited_and_the_present_state(machine: Callable[[float], None]) -> None:
    machine(1)
    with pytest.raises(AssertionError, match=r"it did not come that the job runs, in \d+ s: it is pending"):
        pace.until(lambda: False, "the job runs", lambda: "it is pending")


def test_a_slow_machine_has_more_time(machine: Callable[[float], None]) -> None:
    machine(0.001)
    seen = looks(20)
    with pytest.raises(AssertionError):
        pace.until(lambda: next(seen), "it comes")
    machine(100)
    seen = looks(20)
    assert pace.until(lambda: next(seen), "it comes") == "there"


def test_the_time_of_a_start_is_measured() -> None:
    assert pace.start() > 0
