"""A node that is lost during its checks fails them at once with the reason; the others are checked."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stand_ins
from inventories import cluster_at
from pace import until
from ssh_server import LOCAL, Server, serving
from testinfra.host import Host

from gpupool.engine import ssh
from gpupool.remote import nodes as remote
from gpupool.remote.nodes import Nodes
from gpupool.target import Target, find_target
from gpupool.verify import backend, test_node
from gpupool.verify.backend import NodeBackend
from gpupool.verify.looks import look_at
from gpupool.verify.run import Outcome, run

EXAMPLE = Path(__file__).parents[3] / "inventory" / "example"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A node that the admin's ~/.ssh/config reaches by any address; with a short time limit for each command."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(backend, "CHECK_SECONDS", 3.0)
    monkeypatch.setattr(remote, "_CONNECTING", 2.0)
    with serving(tmp_path / "node") as server:
        (tmp_path / ".ssh").mkdir()
        (tmp_path / ".ssh" / "config").write_text(
            f"Host *\n  IdentityFile {server.data['ssh_key']}\n"
            f"  UserKnownHostsFile {server.data['ssh_known_hosts_file']}\n"
        )
        (tmp_path / ".ssh" / "config").chmod(0o600)
        yield server


def at(port: int) -> Target:
    """Return the example's nodes, all at one port of this machine."""
    target = find_target(EXAMPLE, "nodes")
    admin = target.cluster.access.admin.model_copy(update={"port": port})
    access = target.cluster.access.model_copy(update={"admin": admin})
    nodes = {name: replace(node, address=LOCAL) for name, node in target.cluster.nodes.items()}
    return replace(target, cluster=replace(target.cluster, access=access, nodes=nodes))


def reason_of(host: Host) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        host.run("hostname")
    return str(failed.value)


def test_a_node_that_does_not_answer_is_connected_to_once(node: Server) -> None:
    with Nodes.of(at(node.port)) as nodes:
        host = Host(NodeBackend(nodes.target.nodes[0].name, nodes))
        assert host.run("echo fine").stdout == "fine\n"
        node.hangs = True
        assert [reason_of(host), reason_of(host)] == ["the connection was lost: no answer in 3 s"] * 2
        assert node.asked.read_text().count("exec ") == 1


def test_an_unreachable_node_is_named_with_the_reason(node: Server) -> None:
    with Nodes.of(at(1)) as nodes:
        host = Host(NodeBackend(nodes.target.nodes[0].name, nodes))
        why = f"cannot be reached: ssh: connect to host {LOCAL} port 1: Connection refused"
        assert [reason_of(host), reason_of(host)] == [why, why]


def test_a_lost_connection_is_reported(node: Server) -> None:
    with Nodes.of(at(node.port)) as nodes:
        host = Host(NodeBackend(nodes.target.nodes[0].name, nodes))
        assert host.run("echo fine").stdout == "fine\n"
        node.before = "sleep 1000;"
        asked = node.asked

        def hang_up() -> None:
            until(lambda: asked.read_text().count("exec ") > 1, "the command runs")
            node.transports[-1].close()

        breaking = threading.Thread(target=hang_up)
        breaking.start()
        assert reason_of(host).startswith("the connection was lost: ")
        breaking.join()


def test_an_exit_status_is_that_of_the_command(node: Server) -> None:
    with Nodes.of(at(node.port)) as nodes:
        host = Host(NodeBackend(nodes.target.nodes[0].name, nodes))
        assert [host.run(f"exit {code}").rc for code in (3, 124, 137)] == [3, 124, 137]


def test_the_reason_has_the_words_of_an_apply() -> None:
    assert backend.LOST == ssh.LOST


@pytest.mark.parametrize(("seconds", "message"), [(600, "s ahead"), (-600, "s behind"), (20, "")])
def test_a_wrong_clock_is_named(tmp_path: Path, seconds: int, message: str) -> None:
    """A node runs the look itself, with another clock."""
    stand_ins.put({"date": f'exec /usr/bin/date -d "{seconds} seconds" "$@"'}, tmp_path)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}

    def run(command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(["sh", "-c", command], env=path, capture_output=True, text=True, check=True)

    host: Any = SimpleNamespace(run=run)
    cluster = cluster_at(EXAMPLE)
    node = cluster.nodes["control"]
    seen = look_at(cluster, node, host)
    with contextlib.nullcontext() if not message else pytest.raises(AssertionError, match=message):
        test_node.test_clock_is_correct(node, seen)


def test_all_checks_of_a_node_that_hangs_fail_and_those_of_others_are_made(node: Server, tmp_path: Path) -> None:
    target = at(node.port)
    first, other = target.nodes[0].name, target.nodes[1].name
    config = tmp_path / ".ssh" / "config"
    config.write_text(f"Match originalhost {first}\n  ProxyCommand sleep 1000\n{config.read_text()}")
    outcomes: list[Outcome] = []
    assert run(target, {first, other}, outcomes.append) == outcomes
    assert {outcome.why for outcome in outcomes if outcome.node == first} == {"cannot be reached: no answer in 3 s"}
    assert len([outcome for outcome in outcomes if outcome.node == other]) > 1
    assert not any("reached" in outcome.why for outcome in outcomes if outcome.node == other)
    # the look at this machine, over ssh
    assert [outcome.why for outcome in outcomes if (outcome.node, outcome.check) == (other, "clock is correct")] == [""]
