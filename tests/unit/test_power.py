"""The nodes that a command takes for powered down: switched off by Slurm, and not answering."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import INVENTORY, cluster_at
from pace import until
from ssh_server import LOCAL, serving

from gpupool.cli.running import applied, passed_over, planned
from gpupool.engine.report import HostReport, Report
from gpupool.power import kept_powered_up, powered_down
from gpupool.target import Target

ON, OFF, OTHER = "mlmini-g2-ghpc-0", "mlmini-g2-ghpc-1", "mlmini-cpu-ghpc-0"
CONTROLLER = "mlmini-controller"
SCONTROL = """#!/bin/sh
echo "$*" >> "{folder}/asked"
cat "{folder}/slurm"
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A cluster on this machine: a server answers on the ports of one node and of the controller, and on no others."""
    scontrol = tmp_path / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text(SCONTROL.format(folder=tmp_path))
    scontrol.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{scontrol.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    cluster = cluster_at(INVENTORY / "gcp-slurm")
    nodes = {name: replace(node, address=LOCAL) for name, node in cluster.nodes.items()}
    admin = cluster.access.admin.model_copy(update={"user": None, "port": None, "key": None})
    access = cluster.access.model_copy(update={"admin": admin})
    with serving(tmp_path / "node") as server:
        (tmp_path / ".ssh").mkdir()
        config = tmp_path / ".ssh" / "config"
        config.write_text(
            f"Match originalhost {ON},{CONTROLLER}\n  Port {server.port}\nHost *\n  Port 1\n"
            f"  IdentityFile {server.data['ssh_key']}\n  UserKnownHostsFile {server.data['ssh_known_hosts_file']}\n"
        )
        config.chmod(0o600)
        yield Target(replace(cluster, nodes=nodes, access=access), None, {})


def slurm(folder: Path, **states: str) -> None:
    lines = [f"NodeName={name} Arch=x State={state} ThreadsPerCore=1" for name, state in states.items()]
    (folder / "slurm").write_text("\n".join(lines))


def test_a_node_that_slurm_has_powered_down_is_asleep(target: Target, tmp_path: Path) -> None:
    slurm(
        tmp_path, **{ON: "IDLE+CLOUD+POWERED_DOWN", OFF: "IDLE+CLOUD+POWERED_DOWN", OTHER: "DOWN+CLOUD+NOT_RESPONDING"}
    )
    assert powered_down(target) == (OFF,), "a node that answers is on, and a node that hangs is lost"
    slurm(tmp_path, **{OFF: "IDLE+CLOUD+POWERING_DOWN", OTHER: "DOWN+CLOUD+POWERED_DOWN"})
    assert powered_down(target) == (OFF, OTHER)
    assert powered_down(target, {OTHER}) == (OTHER,)


def test_without_a_slurmctld_no_node_is_asleep(target: Target) -> None:
    assert powered_down(target) == ()


def test_slurm_is_not_called_if_no_node_can_be_powered_down(target: Target, tmp_path: Path) -> None:
    assert powered_down(target, {CONTROLLER}) == ()
    assert not (tmp_path / "asked").exists()


def test_idle_nodes_are_kept_on_during_an_apply(target: Target, tmp_path: Path) -> None:
    slurm(tmp_path, **{ON: "IDLE+CLOUD", OFF: "IDLE+CLOUD+POWERED_DOWN", OTHER: "MIXED+CLOUD"})
    command = f"update nodename={ON} state=idle"
    with kept_powered_up(target, None):
        until(
            lambda: (tmp_path / "asked").exists() and command in (tmp_path / "asked").read_text(), "Slurm counts anew"
        )


def test_a_summary_names_nodes_that_are_asleep() -> None:
    report = Report({"a": HostReport(True, None, (), 0, 0.0)}, 1.0, asleep=("b", "c"))
    assert planned(report) == "1 node: nothing to change; asleep: b, c"
    assert applied(report) == "1 of 1 node match the inventory; nothing to change; asleep: b, c"
    assert report.ok
    assert passed_over(()) == ""
