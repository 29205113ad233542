"""One maintenance at a time: its lock is held by a real session here, and the loss of the lock is noticed."""

import subprocess
from pathlib import Path

import pytest
from fake_controller import FakeController

from gpupool.errors import GpupoolError
from gpupool.remote import lock
from gpupool.upkeep import hold


@pytest.fixture
def local_sessions(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeController:
    """Sessions run on this machine, with a lock file of the test."""
    pipe = subprocess.PIPE

    def session(node: str, *argv: str) -> subprocess.Popen[str]:
        fake.asked.append((node, "session"))
        return subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)

    monkeypatch.setattr(fake, "session", session)
    monkeypatch.setattr(hold, "PATH", str(tmp_path / "lock"))
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.0)
    return fake


def test_a_second_maintenance_is_refused_with_the_holder_of_the_lock(local_sessions: FakeController) -> None:
    with (
        hold.locked(local_sessions) as lock,
        pytest.raises(GpupoolError, match=r"ctl: .*@.* has been doing maintenance since .*nothing was changed"),
        hold.locked(local_sessions),
    ):
        lock.ensure()
    with hold.locked(local_sessions) as lock:
        lock.ensure()
    assert {node for node, text in local_sessions.asked if text == "session"} == {"ctl"}


def test_a_lost_session_ends_the_run(local_sessions: FakeController) -> None:
    with hold.locked(local_sessions) as lock:
        lock._session.kill()
        lock._session.wait()
        with pytest.raises(GpupoolError, match="the connection that holds the lock is lost"):
            lock.ensure()


def test_a_controller_without_an_answer_is_not_locked(
    local_sessions: FakeController, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = subprocess.PIPE

    def ended(node: str, *argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(["true"], stdin=pipe, stdout=pipe, text=True)

    monkeypatch.setattr(local_sessions, "session", ended)
    with (
        pytest.raises(GpupoolError, match="keeps others from doing maintenance: no answer"),
        hold.locked(local_sessions),
    ):
        pass
