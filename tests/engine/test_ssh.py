"""Our SSH connector with a small SSH server in this process, which runs commands here."""

import os
import socket
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from dpkg_locked import locked
from origin import ORIGIN
from pace import start
from pyinfra import host
from pyinfra.api import FactBase, StringCommand
from pyinfra.operations import files, server
from ssh_server import LOCAL, Server, new_key, serving

from gpupool.engine import alive, host_runs, session, ssh
from gpupool.engine.drive import NodeHost, run
from gpupool.engine.progress import Silence
from gpupool.engine.ssh import PoolSSH
from gpupool.facts.script import ask
from gpupool.remote import command
from gpupool.shell import shell_file


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Server]:
    """A node that accepts our key."""
    with serving(tmp_path) as node:
        yield node


def work() -> None:
    server.shell(name="work", commands=[host.data.get("command", "true")])


def failure(node: Server, **data: Any) -> str | None:
    return run([NodeHost("n1", (), {**node.data, **data})], work, execute=True, origin=ORIGIN).hosts["n1"].failure


def test_a_node_whose_sshd_is_slow_to_greet_is_reached_and_a_silent_node_is_named(
    node: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = start()
    node.waits = 2 * limit
    monkeypatch.setattr(host_runs, "ANSWER_SECONDS", limit)  # a busy node accepts connections at once
    assert failure(node) is None
    monkeypatch.setattr(ssh, "GREETING_SECONDS", limit / 2)
    assert failure(node) == "cannot be reached: no SSH server answered"


def test_commands_run_without_waiting_for_acknowledgements(node: Server) -> None:
    options: list[int] = []

    def deploy() -> None:
        connector: Any = host.connector
        sock = connector.client.get_transport().sock
        options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        work()

    report = run([NodeHost("n1", (), node.data)], deploy, execute=True, origin=ORIGIN)
    assert report.failures == {}
    assert report.hosts["n1"].commands == 1
    assert options == [1, 40_000]


def test_a_failed_command_has_its_error(node: Server) -> None:
    assert failure(node, command="fail") == "work: why it failed"


def test_a_lost_connection_is_reported(node: Server) -> None:
    assert failure(node, command="hang up") == "work: the connection was lost"


def test_a_node_that_hangs_is_lost_and_delays_no_other(
    node: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernel answers TCP, but no program answers."""
    monkeypatch.setattr(alive, "EVERY_SECONDS", 0.1)
    monkeypatch.setattr(alive, "PATIENCE_SECONDS", 2)
    with serving(tmp_path / "other") as other:
        hung = NodeHost("n1", (), {**node.data, "command": "freeze"})
        report = run([hung, NodeHost("n2", (), other.data)], work, execute=True, origin=ORIGIN)
    reason = report.hosts["n1"].failure
    assert reason is not None
    assert reason.startswith("work: the connection was lost")
    assert "does not respond" in reason
    assert report.hosts["n2"].ok


def test_a_node_that_answers_without_end_fails_alone(
    node: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "MOST_BYTES", 1 << 20)
    with serving(tmp_path / "other") as other:
        endless = NodeHost("n1", (), {**node.data, "command": "exec cat /dev/zero"})
        report = run([endless, NodeHost("n2", (), other.data)], work, execute=True, origin=ORIGIN)
    assert str(report.hosts["n1"].failure).startswith("work: its answer is longer than")
    assert report.hosts["n2"].ok


def test_a_long_command_is_left_alone_while_its_node_answers(node: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alive, "EVERY_SECONDS", 0.05)
    asked_twice = f'until [ "$(grep -c dpkg {node.asked})" -ge 2 ]; do sleep 0.05; done'
    assert failure(node, command=asked_twice) is None


class Steps(Silence):
    """Collects the steps, and creates a file at a step about dpkg."""

    def __init__(self, shown: Path) -> None:
        self.steps: list[str] = []
        self._shown = shown

    def step(self, host: str, what: str) -> None:
        self.steps.append(f"{host}: {what}")
        if "dpkg" in what:
            self._shown.touch()


@pytest.fixture
def lock(node: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The node's lock of dpkg, about which it is asked all the time."""
    monkeypatch.setattr(alive, "EVERY_SECONDS", 0.05)
    lock = tmp_path / "lock-frontend"
    node.before = f"export lock={lock};"
    return lock


def test_another_program_with_dpkgs_lock_is_named(node: Server, tmp_path: Path, lock: Path) -> None:
    steps = Steps(tmp_path / "shown")
    data = {**node.data, "command": f"until [ -e {tmp_path}/shown ]; do sleep 0.05; done"}
    with locked(lock) as holder:
        name = Path(f"/proc/{holder}/comm").read_text().strip()
        report = run([NodeHost("n1", (), data)], work, execute=True, origin=ORIGIN, progress=steps)
    assert report.failures == {}
    assert f"n1: dpkg is locked by {name} (process {holder}): packages wait for it" in steps.steps


def test_the_end_of_another_programs_lock_is_shown(node: Server, tmp_path: Path, lock: Path) -> None:
    steps = Steps(tmp_path / "shown")
    with locked(lock) as holder:
        free = f"until [ -e {tmp_path}/shown ]; do sleep 0.05; done; kill {holder}; sleep 1"
        run([NodeHost("n1", (), {**node.data, "command": free})], work, execute=True, origin=ORIGIN, progress=steps)
    assert [step.partition(" by ")[0] for step in steps.steps if "dpkg" in step] == [
        "n1: dpkg is locked",
        "n1: dpkg's lock is free",
    ]


@pytest.mark.parametrize("held", [True, False], ids=["by gpupool", "by none"])
def test_dpkgs_lock_is_not_named_if_it_is_held(tmp_path: Path, held: bool) -> None:
    (lock := tmp_path / "lock-frontend").touch()
    with locked(lock if held else tmp_path / "another", {**os.environ, "GPUPOOL_APT": "1"}):
        script = shell_file("gpupool.engine", "dpkg_lock.sh")
        done = subprocess.run(["sh"], input=f"lock={lock}\n{script}", capture_output=True, text=True, check=True)
    assert done.stdout == ""


def test_a_fact_that_exceeds_its_time_limit_is_abandoned(node: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout` on the node cannot end a command that waits for a hanging disk."""
    monkeypatch.setattr(session, "FACT_GRACE_SECONDS", 0.1)

    class Look(FactBase[list[str]]):
        def command(self) -> StringCommand:
            return ask("sleep 2", limit=0)

    report = run([NodeHost("n1", (), node.data)], lambda: host.get_fact(Look), execute=False, origin=None)
    reason = report.hosts["n1"].failure
    assert reason is not None
    assert "no answer within 0 s" in reason


def test_an_unknown_host_key_is_refused(node: Server, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    reason = failure(node, ssh_known_hosts_file=str(empty))
    assert reason is not None
    assert reason.startswith(f"cannot be reached: its host key is not in {empty}; add it")
    assert empty.read_text() == ""


def test_another_host_key_is_refused(node: Server, tmp_path: Path) -> None:
    other = new_key(tmp_path / "other")
    known = tmp_path / "changed"
    known.write_text(f"[{LOCAL}]:{node.port} {other.get_name()} {other.get_base64()}\n")
    reason = failure(node, ssh_known_hosts_file=str(known))
    assert reason is not None
    assert reason.startswith(f"cannot be reached: its host key is not the one in {known}")


def test_a_refused_login_is_explained(node: Server, tmp_path: Path) -> None:
    new_key(tmp_path / "stranger")
    words = "cannot be reached: SSH login refused (is your key in its authorized_keys?)"
    assert failure(node, ssh_key=str(tmp_path / "stranger")) == words


def test_an_upload_to_a_missing_folder_is_refused_in_one_line(node: Server, tmp_path: Path) -> None:
    missing = f"{tmp_path}/missing/f"
    report = run(
        [NodeHost("n1", (), node.data)],
        lambda: files.put(src=StringIO("x"), dest=missing, create_remote_dir=False),
        execute=True,
        origin=ORIGIN,
    )
    reason = report.hosts["n1"].failure
    assert reason is not None
    assert reason.startswith("files.put: mktemp: ")
    assert "\n" not in reason


def test_an_upload_keeps_the_mode_and_the_link_and_a_download_every_byte(node: Server, tmp_path: Path) -> None:
    (source := tmp_path / "source").write_bytes(bytes(range(256)) * 4096)
    (real := tmp_path / "real").touch(mode=0o640)
    (link := tmp_path / "link").symlink_to(real)

    def deploy() -> None:
        files.put(name="up", src=str(source), dest=str(link))
        files.get(name="down", src=str(link), dest=str(tmp_path / "copy"))

    assert run([NodeHost("n1", (), node.data)], deploy, execute=True, origin=ORIGIN).failures == {}
    assert real.read_bytes() == source.read_bytes() == (tmp_path / "copy").read_bytes()
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in tmp_path.glob("*.gpupool-*")) == []


def test_bytes_that_are_not_utf8_end_no_run(node: Server) -> None:
    assert failure(node, command="printf '\\377\\n' >&2; exit 1") == "work: \ufffd"


def test_host_names_are_unchanged() -> None:
    assert list(PoolSSH.make_names_data("n01")) == [("n01", {"ssh_hostname": "n01"}, [])]


def test_pyinfra_finds_our_connector() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'pool = "{PoolSSH.__module__}:{PoolSSH.__name__}"' in text
