"""The runner skips nodes that are powered down, and keeps nodes that it changes powered up."""

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from inventories import SMALL, cluster_at

from gpupool.engine.report import HostReport, NodeHost, Report
from gpupool.run import runner as module
from gpupool.run.runner import SITE, DeployRunner
from gpupool.target import Target

ASLEEP = "gpu-2"
Call = tuple[object, bool, list[str]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """Return the runs of the engine: the steps, whether they change nodes, and the nodes; one node is powered down."""
    asked: list[Call] = []

    def run(
        hosts: Sequence[NodeHost], steps: object, *, execute: bool, limit: Collection[str] | None, **_: object
    ) -> Report:
        names = [host.name for host in hosts if limit is None or host.name in limit]
        asked.append((steps, execute, names))
        return Report({name: HostReport(True, None, (), 1, 0.0) for name in names}, 0.0)

    def powered_down(_: Target, names: Collection[str] | None = None) -> tuple[str, ...]:
        return (ASLEEP,) if names is None or ASLEEP in names else ()

    monkeypatch.setitem(sys.modules, "gpupool.engine.drive", SimpleNamespace(run=run))
    monkeypatch.setattr(module, "powered_down", powered_down)
    return asked


@pytest.fixture
def kept_up(monkeypatch: pytest.MonkeyPatch) -> list[Collection[str] | None]:
    """Return the nodes that were kept powered up, by run."""
    kept: list[Collection[str] | None] = []

    @contextmanager
    def kept_powered_up(_: Target, names: Collection[str] | None) -> Iterator[None]:
        kept.append(names)
        yield

    monkeypatch.setattr(module, "kept_powered_up", kept_powered_up)
    return kept


@pytest.fixture
def runner(tmp_path: Path) -> DeployRunner:
    return DeployRunner(Target(cluster_at(SMALL), None, {}, tmp_path), "apply")


def test_nodes_asleep_are_skipped_and_named(runner: DeployRunner, calls: list[Call]) -> None:
    assert runner.plan().asleep == (ASLEEP,)
    assert runner.plan(["ctl", ASLEEP]).asleep == (ASLEEP,)
    assert runner.plan(["ctl"]).asleep == ()
    assert calls == [(SITE, False, ["ctl", "gpu-1"]), (SITE, False, ["ctl"]), (SITE, False, ["ctl"])]


def test_only_nodes_that_are_changed_are_kept_awake(
    runner: DeployRunner, calls: list[Call], kept_up: list[Collection[str] | None]
) -> None:
    runner.plan()
    assert kept_up == []
    runner.apply()
    assert kept_up == [{"ctl", "gpu-1"}]
    assert [execute for _, execute, _ in calls] == [False, True]


def test_machines_outside_the_inventory_are_only_read(runner: DeployRunner, calls: list[Call]) -> None:
    assert [*runner.look({"new": "10.90.2.9"}, SITE).hosts] == ["new"]
    assert calls == [(SITE, False, ["new"])]
