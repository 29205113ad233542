"""verify of nodes that do not answer: one line each, and they are tried side by side."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import inventories
import pytest
from inventories import cluster_at

from gpupool.remote import tcp
from gpupool.remote.tcp import is_silent
from gpupool.target import Target, find_target
from gpupool.verify import survey
from gpupool.verify.run import Outcome, run

SKYNET = inventories.INVENTORY / "skynet"


@pytest.fixture
def silent() -> Iterator[int]:
    """A port of this machine, at all its addresses, that accepts connections and says nothing."""
    with socket.create_server(("0.0.0.0", 0), backlog=128) as mute:
        yield int(mute.getsockname()[1])


def at(port: int) -> Target:
    """Return SkyNet with a separate address of this machine for each node."""
    target = find_target(SKYNET, "nodes")
    admin = target.cluster.access.admin.model_copy(update={"port": port})
    access = target.cluster.access.model_copy(update={"admin": admin})
    named = [node for node in target.cluster.nodes.values() if node.managed and node.address]
    nodes = {node.name: replace(node, address=f"127.0.1.{number}") for number, node in enumerate(named, 1)}
    return replace(target, cluster=replace(target.cluster, access=access, nodes=target.cluster.nodes | nodes))


def test_each_node_that_does_not_answer_is_one_line(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_GREETING_SECONDS", 1.0)
    target = at(silent)
    at_once: list[int] = []
    counted = tcp.is_silent

    def counting(*arguments: Any) -> bool:
        at_once.append(threading.active_count())
        return counted(*arguments)

    monkeypatch.setattr(survey, "is_silent", counting)
    outcomes = run(target, None, lambda outcome: None)
    assert len(outcomes) == len(target.nodes) >= 36
    assert {outcome.node for outcome in outcomes} == {node.name for node in target.nodes}
    assert {outcome.why for outcome in outcomes} == {
        f"cannot be reached: {node.address} does not answer" for node in target.nodes
    }
    assert max(at_once) >= 36, "they are not tried side by side"
    assert json.dumps([outcome.as_dict() for outcome in outcomes])


def test_a_refusal_is_an_answer_and_a_jump_is_left_to_ssh(silent: int) -> None:
    there = {"hostname": "127.0.0.1", "port": str(silent)}
    assert is_silent(there, 0.5)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        # Linux drops further connections to a full queue
        with socket.create_connection(("127.0.0.1", port)):
            assert is_silent({"hostname": "127.0.0.1", "port": str(port)}, 0.5)
    assert not is_silent({"hostname": "127.0.0.1", "port": "1"}, 0.5)
    assert not is_silent({**there, "proxyjump": "gate"}, 0.5)
    assert not is_silent({**there, "proxycommand": "nc %h %p"}, 0.5)


def test_a_limited_run_reads_the_central_nodes_too(silent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_GREETING_SECONDS", 0.5)
    outcomes: list[Outcome] = []
    run(at(silent), {"a40-01"}, outcomes.append)
    assert [outcome.node for outcome in outcomes] == ["a40-01"]
    assert cluster_at(SKYNET).controllers[0].name != "a40-01"
