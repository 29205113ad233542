"""The waits of a rehearsal: checks for an expected event become rarer, and states that must stay are watched."""

from types import SimpleNamespace
from typing import Any

import pytest

from gpupool.rehearsal import stage
from gpupool.rehearsal.stage import QueueSnapshot, Stage


@pytest.fixture
def gaps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds between checks; sleeping advances the clock."""
    found: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(found), sleep=found.append)
    monkeypatch.setattr(stage, "time", clock)
    monkeypatch.setattr(Stage, "look", lambda _: QueueSnapshot(()))
    return found


def on_a_twin(pace: float) -> Stage:
    twin: Any = SimpleNamespace(pace=lambda: pace)
    nothing: Any = None
    return Stage(twin, nothing)


def test_checks_become_rarer_the_longer_they_wait(gaps: list[float]) -> None:
    came, _ = on_a_twin(1).until(lambda snapshot: False, 100)
    assert not came
    assert gaps == sorted(gaps)
    assert (gaps[0], gaps[-1]) == (0.4, 3.0)
    assert 100 <= sum(gaps) <= 103


def test_a_slow_machine_has_more_time(gaps: list[float]) -> None:
    on_a_twin(3).until(lambda snapshot: False, 100)
    assert 300 <= sum(gaps) <= 303


def test_a_state_that_must_last_is_checked_often_until_the_end(gaps: list[float]) -> None:
    stayed, _ = on_a_twin(1).steady(lambda snapshot: True, 60)
    assert stayed
    assert {*gaps} == {0.4}
    assert sum(gaps) >= 60
