"""The munge key is replaced on all nodes of Slurm, or nothing changes; nodes that are left out are drained."""

from collections.abc import Sequence
from typing import Any

import pytest
from fake_controller import FakeController
from fake_runner import FakeHold, FakeRunner, Notes
from inventories import SMALL, copied

from gpupool.cluster.load import load
from gpupool.errors import GpupoolError, UsageError
from gpupool.target import Target
from gpupool.upkeep.rekey import Replacement, prepare

ALL = ("ctl", "gpu-1", "gpu-2")
MISSING = "gpu-2"


class Run:
    """A replacement on models of slurmctld and of the DeployRunner."""

    def __init__(self, fake: FakeController) -> None:
        self.fake, self.runner = fake, FakeRunner(fake.target, "rekey")

    def __call__(self, without: str | None = None, looks: int = 10_000) -> None:
        hold: Any = FakeHold(looks)
        Replacement(self.fake, self.runner, hold, Notes(), prepare(self.runner, without)).run()

    def steps(self) -> Sequence[tuple[str, tuple[str, ...]]]:
        return [run for run in self.runner.runs if run[0] != "keep powered up"]


@pytest.fixture
def run(fake: FakeController) -> Run:
    return Run(fake)


def test_all_nodes_store_the_key_before_any_uses_it(run: Run) -> None:
    run()
    assert run.steps() == [("store", ALL), ("store", ALL), ("replace", ALL)]
    assert not run.fake.acts()


def test_a_node_that_cannot_be_reached_is_named_and_nothing_changes(run: Run) -> None:
    run.runner.failures["store", MISSING] = "cannot be reached: no answer"
    with pytest.raises(GpupoolError, match=r"^gpu-2: cannot be reached: no answer\nnothing was changed.*--without"):
        run()
    assert run.steps() == [("store", ALL)]


def test_a_node_without_a_login_is_named(run: Run, tmp_path: Any) -> None:
    old = '{name: "gpu-[1-2]", address: "10.90.2.[1-2]", roles: [compute]'
    folder = copied(SMALL, tmp_path / "unmanaged", (old, f"{old}, managed: false"))
    run.runner = FakeRunner(Target(load(folder), None, {}), "rekey")
    with pytest.raises(GpupoolError, match=r"^gpu-1: gpupool does not log in there\ngpu-2: "):
        run()


def test_a_node_that_is_left_out_is_drained_before_and_after(run: Run) -> None:
    run(without=MISSING)
    assert [nodes for _, nodes in run.steps()] == [ALL[:2]] * 3
    assert run.fake.slurm.nodes[MISSING].reason.startswith("gpupool: rekey: has the old munge key")
    assert run.fake.slurm.nodes["gpu-1"].reason == ""


def test_slurmctld_may_be_stopped_by_a_run_that_was_killed(run: Run) -> None:
    run.fake.silent.add("ctl")
    run.runner.effects["replace"] = lambda _: run.fake.silent.clear()
    run(without=MISSING)
    assert run.fake.slurm.nodes[MISSING].reason


@pytest.mark.parametrize("without", ["ctl", "@controller", "nosuch", "gpu-[1-"])
def test_controllers_and_unknown_nodes_cannot_be_left_out(run: Run, without: str) -> None:
    with pytest.raises(UsageError, match="--without"):
        run(without=without)
    assert run.steps() == []


def test_a_key_that_cannot_be_stored_everywhere_is_removed(run: Run) -> None:
    plan = prepare(run.runner, None)
    run.runner.failures["store", MISSING] = "no space left"
    hold: Any = FakeHold()
    with pytest.raises(GpupoolError, match=r"gpu-2: no space left\nall nodes keep their key"):
        Replacement(run.fake, run.runner, hold, Notes(), plan).run()
    assert [what for what, _ in run.steps()] == ["store", "store", "discard"]


def test_a_failure_of_the_replacement_names_the_way_on(run: Run) -> None:
    run.runner.failures["replace", MISSING] = "munge does not run"
    with pytest.raises(GpupoolError, match=r"gpu-2: munge does not run\njobs keep running; run the same command again"):
        run()


def test_without_the_lock_slurmctld_is_not_stopped(run: Run) -> None:
    with pytest.raises(GpupoolError, match="lock is lost"):
        run(looks=0)
    assert [what for what, _ in run.steps()] == ["store", "store"]
