"""One apply at a time on a node, by a lock on the node; wrong clocks are reported."""

import getpass
import math
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gevent
import pytest
from origin import ORIGIN
from pace import start, until
from paramiko import Channel
from pyinfra import host
from pyinfra.operations import server
from ssh_server import Server, serving

from gpupool.engine import clock, lock
from gpupool.engine.drive import NodeHost, Report, run
from gpupool.engine.progress import Silence
from gpupool.remote import lock as remote

ME = f"{getpass.getuser()}@{socket.gethostname()}"


class Notes(Silence):
    """A progress that records the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, *text: object) -> None:
        self.notes.append(str(text[0]))


@pytest.fixture
def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Server]]:
    monkeypatch.setattr(remote, "WAIT_SECONDS", 0.2)
    with serving(tmp_path / "n1") as n1, serving(tmp_path / "n2") as n2, serving(tmp_path / "n3") as n3:
        yield {"n1": n1, "n2": n2, "n3": n3}


def work() -> None:
    server.shell(name="work", commands=[host.data.get("command", "true")])


def go(nodes: dict[str, Server], names: str, execute: bool = True, **data: Any) -> tuple[Report, list[str]]:
    notes = Notes()
    targets = [NodeHost(name, (), {**nodes[name].data, **data}) for name in names.split()]
    return run(targets, work, execute=execute, origin=ORIGIN, progress=notes), notes.notes


def lock_of(node: Server) -> str:
    path = node.asked.parent / "gpupool-apply.lock"
    return path.read_text() if path.exists() else ""


# another admin's run, in a separate process that runs until it is killed or its input ends
OTHER = """
import sys
from gpupool.engine.drive import NodeHost, Origin, run
from gpupool.remote import lock
from pyinfra.operations import server
lock.whoami = lambda: "ada@elsewhere"
data = eval(sys.argv[1])
def work():
    server.shell(name="work", commands=[f"while [ ! -e {sys.argv[2]} ]; do sleep 0.1; done"])
assert run([NodeHost("n2", (), data)], work, execute=True, origin=Origin("apply", "small", "ann@desk")).ok
"""


@pytest.fixture
def other(nodes: dict[str, Server], tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-c", textwrap.dedent(OTHER), repr(nodes["n2"].data), str(tmp_path / "enough")]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2])
    until(lambda: "ada@elsewhere" in lock_of(nodes["n2"]), "the other one has begun")
    yield process
    process.kill()
    process.wait()
    (tmp_path / "enough").touch()  # its command on the node would continue


def test_a_second_apply_is_refused_with_the_holder_and_changes_nothing(
    nodes: dict[str, Server], other: object, tmp_path: Path
) -> None:
    since = time.strftime("%H:%M", time.localtime(int(lock_of(nodes["n2"]).split()[0])))
    report, _ = go(nodes, "n1 n2 n3", command=f"touch {tmp_path}/there")
    after = "; nothing was changed, try again after it has ended, or apply to other nodes (--limit)"
    assert report.failures == {
        "n1": f"not changed: on n2, ada@elsewhere has been applying since {since}{after}",
        "n2": f"ada@elsewhere has been applying here since {since}{after}",
        "n3": f"not changed: on n2, ada@elsewhere has been applying since {since}{after}",
    }
    assert not any("touch" in nodes[name].asked.read_text() for name in nodes)
    assert lock_of(nodes["n1"]) == "", "it is given back"


@pytest.mark.parametrize("owner", ["999999999999999999 root@x", "\u00b25 root@x", "5", "", "\x1b[2J"])
def test_an_owner_that_a_node_made_up_is_another_run(nodes: dict[str, Server], owner: str) -> None:
    nodes["n2"].before = f"printf '%s\\n' 'gpupool-clock nan' 'gpupool-busy {owner}'; exit\n"
    report, _ = go(nodes, "n1 n2")
    assert str(report.failures["n2"]).startswith("another run has been applying here; nothing was changed")


def test_a_node_that_greets_without_end_is_not_locked_and_the_others_are_changed(
    nodes: dict[str, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_ANSWER_SECONDS", 1)
    nodes["n2"].before = "cat /dev/zero; exit\n"
    report, _ = go(nodes, "n1 n2 n3")
    assert report.failures == {"n2": "cannot lock the node for this run: no answer"}


def test_runs_on_different_nodes_continue(nodes: dict[str, Server], other: object) -> None:
    assert go(nodes, "n1 n3")[0].ok


def test_a_plan_reads_and_names_the_running_apply(nodes: dict[str, Server], other: object) -> None:
    report, notes = go(nodes, "n1 n2", execute=False)
    assert report.ok
    (note,) = notes
    assert note.startswith("n2: ada@elsewhere has been applying here since ")
    assert note.endswith("this plan may be outdated")
    assert "ada@elsewhere" in lock_of(nodes["n2"])


def test_a_lock_ends_with_its_run(nodes: dict[str, Server], other: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    (tmp_path / "enough").touch()
    until(lambda: other.poll() is not None, "the other one ends")
    assert other.returncode == 0
    assert lock_of(nodes["n2"]) == ""
    assert go(nodes, "n2")[0].ok
    assert go(nodes, "n2")[0].ok


def test_the_lock_of_a_killed_run_ends(nodes: dict[str, Server], other: "subprocess.Popen[bytes]") -> None:
    other.kill()
    until(lambda: go(nodes, "n2")[0].ok, "the node is free")


def test_a_run_that_is_silent_for_long_loses_its_lock_and_notices(
    nodes: dict[str, Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop was suspended: another run takes the node, and the first run ends when the laptop wakes up."""
    monkeypatch.setattr(remote, "LEASE_SECONDS", 0.5)
    monkeypatch.setattr(remote, "BEAT_SECONDS", 3)
    report, _ = go(nodes, "n1", command="sleep 1000")
    reason = report.hosts["n1"].failure
    assert reason is not None
    assert reason.startswith("work: the connection was lost: the lock has expired")
    assert lock_of(nodes["n1"]) == ""


def test_heartbeats_keep_the_lock(nodes: dict[str, Server], monkeypatch: pytest.MonkeyPatch) -> None:
    lease = math.ceil(6 * start())  # a slow machine may stop for moments
    monkeypatch.setattr(remote, "LEASE_SECONDS", lease)
    monkeypatch.setattr(remote, "BEAT_SECONDS", 0.2)
    assert go(nodes, "n1", command=f"sleep {lease + 1}")[0].ok


class Ended:
    """A channel whose end was sent: paramiko sends nothing more on it, and returns 0."""

    sendall = Channel.sendall  # sendall retries until all bytes are sent

    def __init__(self) -> None:
        self.beats = 0

    def exit_status_ready(self) -> bool:
        return False

    def send(self, data: bytes) -> int:
        self.beats += 1
        assert self.beats < 100, "it tries for ever, and nothing else of the run goes on"
        return 0

    def shutdown_write(self) -> None:
        gevent.sleep(0.05)

    def recv_exit_status(self) -> int:
        return 0

    def close(self) -> None: ...


def test_a_heartbeat_that_cannot_be_sent_is_a_lost_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BEAT_SECONDS", 0)
    channel: Any = Ended()
    lost: list[str] = []
    held = lock.Lock(channel, lambda: lost.append("lost"))
    until(lambda: gevent.sleep(0.01) or held._beating.dead, "the beat has ended")
    assert (channel.beats, lost) == (1, ["lost"])


def test_a_heartbeat_during_the_release_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BEAT_SECONDS", 0)
    channel: Any = Ended()
    lost: list[str] = []
    held = lock.Lock(channel, lambda: lost.append("lost"))
    # the loop has the beat and the release due at once
    monkeypatch.setattr(held._beating, "kill", lambda block: None)
    held.release()
    until(lambda: gevent.sleep(0.01) or held._beating.dead, "the beat has ended")
    assert lost == []


def test_ctrl_c_releases_the_locks(nodes: dict[str, Server]) -> None:
    me = gevent.getcurrent()

    def press() -> None:
        while not nodes["n1"].asked.exists() or "sleep 1000" not in nodes["n1"].asked.read_text():
            gevent.sleep(0.05)
        assert ME in lock_of(nodes["n1"])
        gevent.kill(me, KeyboardInterrupt)

    gevent.spawn(press)
    report, _ = go(nodes, "n1", command="sleep 1000")
    assert report.interrupted
    assert lock_of(nodes["n1"]) == ""


def test_only_root_can_take_the_lock(nodes: dict[str, Server]) -> None:
    """A user who can open a file can lock it."""
    assert go(nodes, "n1")[0].ok
    assert (nodes["n1"].asked.parent / "gpupool-apply.lock").stat().st_mode & 0o777 == 0o600


def test_a_node_that_cannot_be_locked_is_left_alone_and_others_are_not(nodes: dict[str, Server]) -> None:
    (nodes["n1"].asked.parent / "gpupool-apply.lock").mkdir()
    report, _ = go(nodes, "n1 n2")
    assert list(report.failures) == ["n1"]
    assert report.failures["n1"].startswith("cannot lock the node for this run: ")


def test_a_wrong_clock_is_named(nodes: dict[str, Server]) -> None:
    fast = nodes["n2"].asked.parent / "date"
    fast.write_text('#!/bin/sh\nexec /bin/date -d "600 seconds" "$@"\n')
    fast.chmod(0o755)
    nodes["n2"].before = f"PATH={fast.parent}:$PATH; export PATH; "
    for execute in (False, True):
        report, notes = go(nodes, "n1 n2 n3", execute=execute)
        assert report.ok
        assert notes == ["n2: its clock is 600 s ahead; munge refuses it from 300 s on"]
    report, _ = go(nodes, "n1 n2 n3", command="fail")
    assert report.failures["n2"] == "work: why it failed (its clock is 600 s ahead; munge refuses it from 300 s on)"
    assert report.failures["n1"] == "work: why it failed"


def test_of_three_clocks_the_median_is_the_reference() -> None:
    assert clock.deviations({"a": 3.0, "b": -1.0}) == {}
    assert clock.deviations({"a": -61.0}) == {"a": "its clock is 61 s behind; munge refuses it from 300 s on"}
    (c,) = clock.deviations({"a": -300.0, "b": -300.0, "c": 0.0}).items()
    assert c == ("c", "its clock is 300 s ahead; munge refuses it from 300 s on")
    assert clock.deviations({}) == {}
