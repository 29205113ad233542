"""Which nodes a command takes for asleep: those that do not answer, and that Slurm has switched off."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import INVENTORY
from pace import until

from gpupool.asleep import asleep, awake
from gpupool.cli.running import applied, passed_over, planned
from gpupool.cluster.load import load
from gpupool.engine.report import HostReport, Report
from gpupool.target import Target

ON, OFF, OTHER = "mlmini-g2-ghpc-0", "mlmini-g2-ghpc-1", "mlmini-cpu-ghpc-0"
SSH = """#!/bin/sh
echo "$*" >> "{folder}/asked"
[ -e "{folder}/slurm" ] && cat "{folder}/slurm"
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Target]:
    """A cluster on this machine: at the address of one node somebody listens, at the others nobody."""
    cluster = load(INVENTORY / "gcp-slurm")
    ssh = tmp_path / "ssh"
    ssh.write_text(SSH.format(folder=tmp_path))
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with socket.create_server(("127.0.0.1", 0)) as server:
        addresses = {name: f"127.0.0.{index + 2}" for index, name in enumerate(cluster.nodes)} | {ON: "127.0.0.1"}
        nodes = {name: replace(node, address=addresses[name]) for name, node in cluster.nodes.items()}
        yield Target(replace(cluster, nodes=nodes), None, {"ssh_port": server.getsockname()[1], "ssh_user": "root"})


def slurm(folder: Path, **states: str) -> None:
    lines = [f"NodeName={name} Arch=x State={state} ThreadsPerCore=1" for name, state in states.items()]
    (folder / "slurm").write_text("\n".join(lines))


def test_one_that_slurm_has_switched_off_is_asleep(target: Target, tmp_path: Path) -> None:
    slurm(
        tmp_path, **{ON: "IDLE+CLOUD+POWERED_DOWN", OFF: "IDLE+CLOUD+POWERED_DOWN", OTHER: "DOWN+CLOUD+NOT_RESPONDING"}
    )
    assert asleep(target) == (OFF,), "one that answers is on, and one that hangs is lost"
    slurm(tmp_path, **{OFF: "IDLE+CLOUD+POWERING_DOWN", OTHER: "DOWN+CLOUD+POWERED_DOWN"})
    assert asleep(target) == (OFF, OTHER)
    assert asleep(target, {OTHER}) == (OTHER,)


def test_without_a_slurmctld_none_is_asleep(target: Target) -> None:
    assert asleep(target) == ()


def test_nothing_is_asked_where_all_are_on(target: Target, tmp_path: Path) -> None:
    assert asleep(target, {ON}) == ()
    assert not (tmp_path / "asked").exists()


def test_idle_nodes_stay_on_for_an_apply(target: Target, tmp_path: Path) -> None:
    slurm(tmp_path, **{ON: "IDLE+CLOUD", OFF: "IDLE+CLOUD+POWERED_DOWN", OTHER: "MIXED+CLOUD"})
    told = f"mlmini-controller scontrol update nodename={ON} state=idle"
    with awake(target, None):
        until(lambda: (tmp_path / "asked").exists() and told in (tmp_path / "asked").read_text(), "Slurm counts anew")


def test_a_summary_names_them() -> None:
    report = Report({"a": HostReport(True, None, (), 0, 0.0)}, 1.0, asleep=("b", "c"))
    assert planned(report) == "1 node: nothing to change; asleep: b, c"
    assert applied(report) == "1 of 1 node match the inventory; nothing to change; asleep: b, c"
    assert report.ok
    assert passed_over(()) == ""
