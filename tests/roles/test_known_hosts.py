"""Every node gets the host keys of all, read from them in the same run; the old line of an absent node stays."""

from collections import Counter
from typing import Any

import empty_nodes
import gevent
import pytest
from empty_nodes import host_key
from origin import ORIGIN
from pyinfra.api.exceptions import ConnectError

from gpupool.cluster.model import Cluster
from gpupool.compile.system.ssh import names_of_nodes
from gpupool.engine.current import cluster_and_node
from gpupool.engine.drive import Report, run
from gpupool.facts.host_keys import KNOWN, known_in
from gpupool.roles import ssh
from gpupool.wording import changed

NODES = ["login1", "control", "files", "a40-01", "rtx-01"]


def apply(*limit: str, execute: bool = True) -> Report:
    target = empty_nodes.testbed("example")
    return run(
        target.hosts, lambda: ssh.apply(*cluster_and_node()), execute=execute, origin=ORIGIN, limit=limit or None
    )


def known_hosts(node: str) -> dict[str, tuple[str, ...]]:
    return known_in(empty_nodes.text_put(node, KNOWN).splitlines())


@pytest.fixture
def cluster() -> Cluster:
    return empty_nodes.testbed("example").cluster


def test_all_nodes_know_all_host_keys(cluster: Cluster) -> None:
    assert not apply().failures
    for node in NODES:
        assert known_hosts(node) == {name: (host_key(name),) for name in NODES}
    text = empty_nodes.text_put("login1", KNOWN)
    assert empty_nodes.staged("login1")[-1][:3] == (KNOWN, "root:root", "0644")
    address = cluster.nodes["a40-01"].address
    assert f"\na40-01,{cluster.nodes['a40-01'].fqdn},{address} {host_key('a40-01')}\n" in text


def test_a_plan_shows_the_keys(cluster: Cluster) -> None:
    report = apply(execute=False)
    assert not report.failures
    assert not any(received.commands for received in empty_nodes.RECEIVED.values())
    for host in report.hosts.values():
        (diff,) = (changed(change) or "" for change in host.changes if change.operation == f"Known hosts | {KNOWN}")
        for name, names in names_of_nodes(cluster).items():
            assert f"+{names} {host_key(name)}\n" in diff


def test_an_absent_node_keeps_its_line_and_a_removed_node_loses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(self: empty_nodes.EmptyNode) -> None:
        if self.host.name == "rtx-01":
            raise ConnectError("no answer")

    monkeypatch.setattr(empty_nodes.EmptyNode, "connect", away)
    lines = [f"{name} {host_key(f'{name} as it was')}" for name in ("rtx-01", "a40-01", "gone-01")]
    empty_nodes.KNOWN["login1"] = lines
    assert list(apply().failures) == ["rtx-01"]
    there = {name: (host_key(name),) for name in NODES if name != "rtx-01"}
    assert known_hosts("login1") == {**there, "rtx-01": (host_key("rtx-01 as it was"),)}
    assert known_hosts("files") == there


def test_a_node_that_fails_during_the_query_keeps_its_line() -> None:
    empty_nodes.BROKEN["rtx-01"] = "ssh_host_"
    empty_nodes.KNOWN["login1"] = [f"rtx-01 {host_key('rtx-01')}"]
    assert apply().failures == {"rtx-01": "Known hosts: it is broken"}
    assert set(known_hosts("login1")) == set(NODES)
    assert set(known_hosts("files")) == {*NODES} - {"rtx-01"}


def test_a_run_on_some_nodes_reads_no_others_and_keeps_their_lines() -> None:
    empty_nodes.KNOWN["login1"] = [f"{name} {host_key(f'{name} as it was')}" for name in NODES]
    assert not apply("login1", "a40-01").failures
    assert set(empty_nodes.RECEIVED) == {"login1", "a40-01"}
    now = {name: (host_key(name if name in ("login1", "a40-01") else f"{name} as it was"),) for name in NODES}
    assert known_hosts("login1") == now


def test_a_node_gives_keys_for_itself_only() -> None:
    theirs, markers = host_key("of another one"), ["@cert-authority *", "*", "login1,*", "login1"]
    lies = [f"{names} {theirs}" for names in markers]
    empty_nodes.KEYS["a40-01"] = [*lies, f"{theirs}\rlogin1 {theirs}", theirs, host_key("a second one")]
    assert not apply().failures
    assert known_hosts("login1") == {name: (theirs if name == "a40-01" else host_key(name),) for name in NODES}
    text = empty_nodes.text_put("login1", KNOWN)
    assert [line for line in text.splitlines() if theirs in line and not line.startswith("a40-01,")] == []


def test_a_node_is_read_by_one_other_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All nodes ask all others at once, and sshd accepts ten sessions on one connection."""
    answer, at_work, most = empty_nodes.EmptyNode.run_shell_command, Counter[str](), Counter[str]()

    def slowly(self: empty_nodes.EmptyNode, command: Any, *args: Any, **kwargs: Any) -> Any:
        name = self.host.name
        at_work[name] += 1
        most[name] = max(most[name], at_work[name])
        gevent.sleep(0)
        try:
            return answer(self, command, *args, **kwargs)
        finally:
            at_work[name] -= 1

    monkeypatch.setattr(empty_nodes.EmptyNode, "run_shell_command", slowly)
    assert not apply().failures
    assert most == dict.fromkeys(NODES, 1)


def test_a_node_that_joins_alone_has_the_lines_of_the_controller() -> None:
    empty_nodes.KNOWN["control"] = [f"{name} {host_key(name)}" for name in NODES if name != "a40-01"]
    assert not apply("control", "a40-01").failures
    assert known_hosts("a40-01") == known_hosts("control") == {name: (host_key(name),) for name in NODES}
