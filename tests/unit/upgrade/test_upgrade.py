"""The order of an upgrade, and refusals before it begins."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from changing import change_of
from inventories import INVENTORY, SMALL, changed, cluster_at

from gpupool.cluster.node import Node
from gpupool.engine.report import HostReport, Report
from gpupool.errors import GpupoolError, UsageError
from gpupool.reasons import Code, Reason
from gpupool.run.runner import DeployRunner
from gpupool.slurm.nodes import read
from gpupool.target import Target
from gpupool.upgrade import prepare
from gpupool.upgrade.order import batches, daemons, ensure_upgradable, stages

CLUSTER = cluster_at(SMALL)
WORK = {name: [change_of("Slurm | slurmd")] for name in CLUSTER.nodes}


def test_slurmdbd_is_first_then_controllers_then_nodes_then_heads() -> None:
    """The backup controller of SkyNet is also a compute node: its slurmd may not be newer than slurmctld."""
    cluster = cluster_at(INVENTORY / "skynet")
    chosen = ["sky1", "a40-01", "vicki", "marvin"]
    found = [(stage.kind, [node.name for node in stage.nodes]) for stage in stages(cluster, chosen)]
    assert found == [
        ("slurmdbd", ["marvin"]),
        ("backup controllers", ["vicki"]),
        ("compute nodes", ["a40-01"]),
        ("the others", ["sky1"]),
    ]
    apart = replace(cluster, nodes={name: _apart(node) for name, node in cluster.nodes.items()})
    found = [(stage.kind, [node.name for node in stage.nodes]) for stage in stages(apart, [*chosen, "sky2"])]
    assert found[:3] == [
        ("slurmdbd", ["sky2"]),
        ("backup controllers", ["vicki"]),
        ("the first controller", ["marvin"]),
    ]


def _apart(node: Node) -> Node:
    """Return the node with other roles: the database on a head, and a dedicated backup controller."""
    roles = {"marvin": ("controller",), "vicki": ("backup-controller",), "sky2": ("head", "database")}
    return replace(node, roles=roles.get(node.name, node.roles))


def test_daemons_on_the_node_of_the_database_change_with_it() -> None:
    assert [(stage.kind, len(stage.nodes)) for stage in stages(CLUSTER, CLUSTER.nodes)] == [
        ("slurmdbd", 1),
        ("compute nodes", 2),
    ]
    assert daemons(CLUSTER, CLUSTER.nodes["ctl"]) == ("slurmctld", "slurmdbd", "sackd")


def test_without_a_backup_or_with_the_database_on_a_compute_node_no_upgrade_begins(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the inventory has no slurm\.backup"):
        ensure_upgradable(CLUSTER)
    backup = ("scheduler:", "slurm: {backup: {to: /srv/backup}}\nscheduler:")
    cluster = changed(SMALL, tmp_path / "backup", backup)
    ensure_upgradable(cluster)
    nodes = {
        **cluster.nodes,
        "ctl": replace(cluster.nodes["ctl"], roles=("head", "controller")),
        "gpu-1": replace(cluster.nodes["gpu-1"], roles=("compute", "database")),
    }
    with pytest.raises(UsageError, match="gpu-1 has the roles database and compute"):
        ensure_upgradable(replace(cluster, nodes=nodes))


def test_the_first_node_is_changed_alone() -> None:
    nodes: Any = [*"abcdef"]
    assert batches(nodes, 3) == [["a"], ["b", "c", "d"], ["e", "f"]]
    assert batches([], 3) == []


def test_the_version_of_slurmd_is_read() -> None:
    assert (
        read("NodeName=gpu-1 Arch=x86_64\n   NodeAddr=gpu-1 Version=26.05.5\n   State=IDLE\n")["gpu-1"].version
        == "26.05.5"
    )


def refused(report: Report, monkeypatch: pytest.MonkeyPatch, work: Any = WORK) -> str:
    monkeypatch.setattr(DeployRunner, "plan", lambda *_, **__: report)
    try:
        prepare._ensure_no_other_changes(DeployRunner(Target(CLUSTER, None, {}), "upgrade"), CLUSTER, work)
    except GpupoolError as error:
        return str(error)
    return ""


def test_other_changes_on_a_controller_are_refused_until_the_upgrade_has_begun_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = Report(
        {"ctl": HostReport(True, None, (change_of("Slurm configuration | /etc/slurm/slurm.conf"),), 1, 0.0)}, 0.0
    )
    message = refused(waits, monkeypatch).splitlines()
    assert message[0] == "ctl: Slurm configuration | /etc/slurm/slurm.conf"
    assert "other changes than slurm.version" in message[1]
    assert refused(waits, monkeypatch, {**WORK, "ctl": []}) == ""
    assert refused(Report({"ctl": HostReport(True, None, (), 1, 0.0)}, 0.0), monkeypatch) == ""


def test_a_lost_node_is_upgraded_later_and_a_controller_is_required() -> None:
    def report(name: str, code: Code) -> Report:
        return Report({name: HostReport(False, "why", (), 0, 0.0, reason=Reason(code))}, 0.0)

    assert prepare._lost(CLUSTER, report("gpu-1", Code.UNREACHABLE)) == ("gpu-1",)
    for name, code in (("ctl", Code.UNREACHABLE), ("gpu-1", Code.REFUSED)):
        with pytest.raises(GpupoolError, match="1 node cannot be upgraded, and nothing was changed"):
            prepare._lost(CLUSTER, report(name, code))
