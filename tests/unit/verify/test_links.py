"""A connection that fails is named at the node where it is to be mended."""

from collections.abc import Callable

import inventories
from inventories import cluster_at

from gpupool.verify.links import Link, faults, links

SKYNET = cluster_at(inventories.INVENTORY / "skynet")
EXAMPLE = cluster_at(inventories.INVENTORY / "example")
ALL = [link for own in links(EXAMPLE, list(EXAMPLE.nodes.values())).values() for link in own]
RUNNING = {"control": {"slurmctld", "slurmdbd"}, **{name: {"slurmd"} for name in ("a40-01", "rtx-01", "rtx-02")}}


def found(result: str, is_closed: Callable[[Link], bool]) -> dict[str, list[str]]:
    """Return the messages if the connections that match have this result, and all others work."""
    return dict(faults({link: result if is_closed(link) else "OK" for link in ALL}, RUNNING))


def test_slurm_is_tried_in_both_directions() -> None:
    pairs = {(link.source, link.target, link.daemon) for link in ALL}
    assert {("control", "a40-01", "slurmd"), ("a40-01", "control", "slurmctld")} <= pairs
    assert {("login1", "a40-01", "slurmd"), ("a40-01", "login1", "srun")} <= pairs
    assert {("rtx-01", "a40-01", "slurmd"), ("a40-01", "rtx-02", "slurmd"), ("a40-01", "rtx-02", "srun")} <= pairs
    assert {("login1", "control", "slurmdbd"), ("login1", "control", "slurmctld")} <= pairs
    assert not {link for link in ALL if link.source == link.target or "files" in (link.source, link.target)}


def test_a_large_cluster_is_not_tried_each_to_each() -> None:
    by_source = links(SKYNET, list(SKYNET.nodes.values()))
    compute = next(node for node in SKYNET.having("compute") if node.roles == ("compute",))
    assert len(by_source[compute.name]) < 30


def test_no_fault_is_named_if_all_connections_work() -> None:
    assert found("ETIMEDOUT", lambda link: False) == {}


def test_a_port_that_is_closed_to_all_is_named_at_its_node() -> None:
    messages = found("ETIMEDOUT", lambda link: link.target == "a40-01" and link.daemon == "slurmd")
    assert messages == {"a40-01": ["port 6818 (slurmd) is closed to login1,rtx-[01-02],control: no answer"]}


def test_a_port_that_one_node_cannot_reach_is_named_at_this_node() -> None:
    messages = found("EHOSTUNREACH", lambda link: (link.source, link.daemon) == ("rtx-01", "slurmctld"))
    assert messages == {"rtx-01": ["cannot connect to port 6817 (slurmctld) of control: rejected, or no route"]}


def test_a_node_whose_connections_all_fail_is_named_once() -> None:
    messages = found("ETIMEDOUT", lambda link: link.source == "rtx-01")
    assert list(messages) == ["rtx-01"]
    assert len(messages["rtx-01"]) == 1


def test_a_refusal_is_a_fault_only_of_a_daemon_that_runs() -> None:
    assert found("ECONNREFUSED", lambda link: link.daemon == "srun") == {}
    refused = {link: "ECONNREFUSED" if link.target == "a40-01" else "OK" for link in ALL}
    assert faults(refused, {**RUNNING, "a40-01": set()}) == {}
    assert list(faults(refused, RUNNING)) == ["a40-01"]
