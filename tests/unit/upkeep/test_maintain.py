"""The order of maintenance: nothing is tested outside of the reservation, and it goes when all is over."""

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inventories import SMALL

from gpupool.cluster.load import load
from gpupool.engine.report import HostReport, Report
from gpupool.run.door import Door
from gpupool.run.observer import Observer
from gpupool.target import Target
from gpupool.upkeep import maintain
from gpupool.upkeep.accept import Acceptance
from gpupool.upkeep.choice import Progress
from gpupool.upkeep.drain import Moved
from gpupool.upkeep.maintain import Maintenance
from gpupool.upkeep.prepare import Prepared
from gpupool.upkeep.reboot import Boot
from gpupool.upkeep.state import NodeState
from gpupool.upkeep.waves import Bounds, Wishes

CLUSTER = load(SMALL)
NAMES = ("gpu-1", "gpu-2")


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Slurm's part, of two nodes without jobs; the list is what it was told, and what was accepted, in order."""
    heard: list[str] = []
    ours: set[str] = set()

    def states(_: Any, nodes: Any) -> dict[str, NodeState]:
        drained = NodeState(frozenset({"IDLE", "DRAIN"}), "gpupool: maintain: x", "root")
        return {it.name: drained if it.name in ours else NodeState(frozenset({"IDLE"})) for it in nodes}

    def drained(_: Any, nodes: Any, work: str, why: str) -> Moved:
        ours.update(it.name for it in nodes)
        return Moved(tuple(it.name for it in nodes), {})

    def accepted(_: Any, nodes: Any, *__: Any) -> dict[str, Acceptance]:
        heard.extend(f"accept {it.name}" for it in nodes)
        ours.difference_update(it.name for it in nodes)
        return {it.name: Acceptance(it.name) for it in nodes}

    monkeypatch.setattr(maintain, "states", states)
    monkeypatch.setattr(maintain, "jobs", lambda *_: ())
    monkeypatch.setattr(maintain, "boots", lambda _, nodes: {it.name: Boot(1) for it in nodes})
    monkeypatch.setattr(maintain, "accept", accepted)
    monkeypatch.setattr(maintain.drain, "drain", drained)
    monkeypatch.setattr(maintain.drain, "LOOK_SECONDS", 0.0)
    reserved = SimpleNamespace(
        reserve=lambda _, __, nodes: heard.append(f"reserve {','.join(it.name for it in nodes)}"),
        release=lambda *_: heard.append("release"),
    )
    monkeypatch.setattr(maintain, "reserve", reserved)
    return heard


class Applying(Door):
    """A door whose applies change nothing, and never fail."""

    def apply(self, names: Collection[str] | None = None, log: Path | None = None) -> Report:
        return Report(dict.fromkeys(names or (), HostReport(True, None, (), 1, 0.0)), 0.0)


def run(started: tuple[str, ...], at_most: int = 1) -> dict[str, str]:
    progress = {name: Progress(CLUSTER.nodes[name], "waiting") for name in NAMES}
    target = Target(CLUSTER, None, {})
    controller: Any = SimpleNamespace(target=target, on=lambda *_, **__: "")
    hold: Any = SimpleNamespace(ensure=lambda: None)
    prepared = Prepared(progress, started, (), {}, since=0)
    Maintenance(controller, Applying(target, "maintain"), hold, Observer(), prepared, Wishes(Bounds(at_most))).run()
    return {name: it.phase for name, it in progress.items()}


def test_one_by_one_and_the_reservation_is_never_without_the_node_that_is_tested(done: list[str]) -> None:
    assert run(()) == dict.fromkeys(NAMES, "done")
    assert done == ["reserve gpu-1", "accept gpu-1", "reserve gpu-2", "accept gpu-2", "release"]


def test_what_an_earlier_run_has_begun_is_reserved_again_before_it_is_tested(done: list[str]) -> None:
    assert run(("gpu-2",)) == dict.fromkeys(NAMES, "done")
    assert done[:2] == ["reserve gpu-2", "accept gpu-2"]
    assert done[-1] == "release"


def test_the_first_goes_alone_though_more_may_be_out(done: list[str]) -> None:
    run((), at_most=2)
    assert done[:2] == ["reserve gpu-1", "accept gpu-1"]
