"""A node that is back in service is resumed if this run has applied to it."""

from collections.abc import Collection
from typing import Any

from origin import ORIGIN
from pyinfra import host
from pyinfra.api import deploy
from pyinfra.operations import server

from gpupool.engine.drive import NodeHost, Report, run
from gpupool.facts.script import END
from gpupool.operations import outages
from gpupool.operations.together import barrier

FIRST, NODE = "@fake/control", "@fake/n1"
DRAINED = "NodeName=gpu-1 State=IDLE+DRAIN Reason=gpupool: out of service: a fan [root@2030-01-01T10:00:00]"


def node(name: str, **responses: Any) -> NodeHost:
    data = {"fake_delay": 0, "fake_delay_jitter": 0, "fake_responses": {"show nodes": [DRAINED, END], **responses}}
    return NodeHost(name, (), data, "fake")


@deploy("Slurm")
def back() -> None:
    if host.name == NODE:
        server.shell(name="configured", commands=["configure"])
    barrier(name="configured")
    if host.name == FIRST:
        outages.resumed(name="back", names={"gpu-1": NODE})


def ran(configured: bool = True, execute: bool = True, limit: Collection[str] | None = None) -> Report:
    nodes = [node("control"), node("n1", configure={"success": configured})]
    return run(nodes, back, execute=execute, origin=ORIGIN if execute else None, limit=limit)


def changes(report: Report) -> list[str]:
    return [change.name for change in report.hosts["control"].changes]


def test_a_node_that_was_applied_is_resumed() -> None:
    assert changes(ran()) == changes(ran(execute=False)) == ["node gpu-1 in Slurm"]


def test_a_node_that_failed_stays_drained() -> None:
    report = ran(configured=False)
    assert "n1" in report.failures
    assert changes(report) == []
    assert "drained until an apply" in report.hosts["control"].notes[0]


def test_a_node_outside_of_the_limit_stays_drained() -> None:
    report = ran(limit={"control"})
    assert report.ok
    assert changes(report) == []
    assert "drained until an apply" in report.hosts["control"].notes[0]
