"""The operations of an upgrade on a node, in order: they are recorded instead of run."""

from collections.abc import Callable
from typing import Any

import pytest
from inventories import SMALL, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.upgrade import steps

CLUSTER = cluster_at(SMALL)


class Recorder:
    """Replaces modules of operations: records each call, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def module(self, name: str) -> Any:
        recorder = self

        class Module:
            def __getattr__(self, operation: str) -> Callable[..., None]:
                return lambda *_, **values: recorder.calls.append((f"{name}.{operation}", values))

        return Module()

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def __getitem__(self, name: str) -> dict[str, Any]:
        (values,) = (values for own, values in self.calls if own == name)
        return values


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recorder]:
    """Run a step on a node."""

    def run(node: str, step: Callable[..., None], *arguments: Any, cluster: Cluster = CLUSTER) -> Recorder:
        recorder = Recorder()
        for name in ("slurm_upgrade", "files", "restore", "service", "roles_database"):
            monkeypatch.setattr(steps, name, recorder.module(name))
        monkeypatch.setattr(steps, "barrier", lambda **_: recorder.calls.append(("barrier", {})))
        monkeypatch.setattr(steps, "cluster_and_node", lambda: (cluster, cluster.nodes[node]))
        step(*arguments)
        return recorder

    return run


def test_the_backup_is_restored_before_the_former_slurmdbd_starts(on: Callable[..., Recorder]) -> None:
    done = on("ctl", steps.back, CLUSTER, "database-1.sql.gz")
    assert done.names == [
        "slurm_upgrade.rolled_back",
        "files.put",
        "restore.database",
        "slurm_upgrade.answering",
        *["service.running"] * 2,
        "slurm_upgrade.tidied",
    ]
    taken = done["slurm_upgrade.rolled_back"]
    assert (taken["release"], taken["units"], taken["start"]) == ("24.11", ["slurmctld", "slurmdbd", "sackd"], [])
    restored = done["restore.database"]
    assert (restored["backup"], restored["aside"]) == ("database-1.sql.gz", True)
    assert restored["program"] == steps.COMMAND
    assert done["files.put"]["read_by"] == "slurmdbd.service"
    assert [file.path for file in done["files.put"]["files"]]
    assert [values["unit"] for name, values in done.calls if name == "service.running"] == ["slurmctld", "sackd"]


def test_on_a_compute_node_with_the_database_slurmd_starts_again(on: Callable[..., Recorder]) -> None:
    done = on("gpu-1", steps.back, CLUSTER, "x")
    assert [values["unit"] for name, values in done.calls if name == "service.running"] == ["slurmd"]


def test_slurmd_and_sackd_start_at_once_and_daemons_with_new_files_later(on: Callable[..., Recorder]) -> None:
    assert on("gpu-1", steps.change)["slurm_upgrade.installed"]["start"] == ["slurmd"]
    first = on("ctl", steps.change)["slurm_upgrade.installed"]
    assert (first["units"], first["start"]) == (["slurmctld", "slurmdbd", "sackd"], [])


def test_only_nodes_of_slurmdbd_make_a_backup_and_keep_the_former_packages(on: Callable[..., Recorder]) -> None:
    assert on("ctl", steps.change)["slurm_upgrade.installed"]["backup"] == steps.COMMAND
    assert on("gpu-1", steps.change)["slurm_upgrade.installed"]["backup"] == ""
    assert on("ctl", steps.fetch)["slurm_upgrade.fetched"]["way_back"] is True
    fetched = on("gpu-1", steps.fetch)["slurm_upgrade.fetched"]
    assert fetched["way_back"] is False
    assert fetched["release"] == "24.11"
    assert "slurmd" in fetched["needed"]
    assert "24.05" in fetched["takes_over_from"]


def test_a_plan_passes_every_operation(on: Callable[..., Recorder]) -> None:
    names = ["slurm_upgrade.fetched", "slurm_upgrade.installed", "slurm_upgrade.tidied"]
    assert on("gpu-1", steps.look).names == names
    assert on("gpu-1", steps.fetch).names == names[:1]
    assert on("gpu-1", steps.change).names == names[1:2]
    assert on("gpu-1", steps.tidy).names == ["barrier", *names[2:]]


def test_slurmdbd_gets_its_settings_before_it_is_waited_for(on: Callable[..., Recorder]) -> None:
    assert on("ctl", steps.database).names == [
        "slurm_upgrade.installed",
        "roles_database.apply",
        "slurm_upgrade.answering",
    ]
