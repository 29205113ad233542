"""Maintenance before the first drain: the limits of labs, the work to do, and nodes left alone."""

from collections.abc import Callable
from typing import Any

import pytest
from maintaining import ONE, TWO, Run

from gpupool.errors import UsageError
from gpupool.upkeep.maintain import Maintenance
from gpupool.upkeep.waves import Bounds, MaintenanceOptions

DONE = ("done", "")


# Limits of labs


def test_nodes_wait_while_a_lab_would_lack_more_than_allowed(run: Run) -> None:
    # red owns 10 of 16 GPUs, blue 6: one node costs red at most 8
    assert run(at_most=2, per_lab=8) == {ONE: DONE, TWO: DONE}
    assert run.applied() == [(ONE,), (TWO,)]
    assert run.prepared.lacking == {"red": 8, "blue": 6}


def test_nodes_already_out_keep_others_in_service(four: Callable[[], Run]) -> None:
    run = four()
    run.slurm.drain("gpu-4", "disk is replaced")
    run.slurm.drain("gpu-3", "disk is replaced")
    found = run("gpu-[1-2]", per_lab=0)
    assert {phase for phase, _ in found.values()} == {"not begun"}
    assert found[ONE][1] == "a lab would lack more than --per-lab allows"
    run.slurm.nodes[TWO].flags = ["DOWN"]
    assert run(ONE, per_lab=0)[ONE][1].startswith("labs already lack as much as --per-lab allows: red")


def test_a_limit_that_one_node_alone_exceeds_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match=r"--per-lab 1: gpu-1 alone may take 8 GPUs from red; allow at least 8"):
        run(per_lab=1)
    assert run.fake.acts() == []


def test_the_loss_of_labs_is_within_the_limit_unless_they_lack_more_already(run: Run) -> None:
    assert run.prepare(at_most=2).lacking == {"red": 10, "blue": 6}
    assert run.prepare(at_most=2, per_lab=9).lacking == {"red": 9, "blue": 6}
    run.slurm.drain(ONE, "disk is replaced")
    run.slurm.drain(TWO, "disk is replaced")
    assert run.prepare(at_most=2, per_lab=9).lacking == {"red": 10, "blue": 6}


# Preparing


def test_a_selector_without_a_compute_node_is_refused(run: Run) -> None:
    for selector, why in (("ctl", "selects no compute node"), ("nosuch", "--nodes ")):
        with pytest.raises(UsageError, match=why):
            run.prepare(selector)


def test_a_node_without_changes_is_not_drained(run: Run) -> None:
    run.runner.changes.clear()
    assert run() == {ONE: ("nothing to do", ""), TWO: ("nothing to do", "")}
    assert [text for text in run.fake.acts() if "state=" in text] == []


def test_each_node_has_the_reason_for_its_maintenance(run: Run) -> None:
    run.runner.changes.pop(("plan", TWO))
    run.fake.needs[TWO] = "kernel 6.12 is installed, 6.1 runs"
    assert {name: progress.why for name, progress in run.prepare().progress.items()} == {
        ONE: "2 changes",
        TWO: "kernel 6.12 is installed, 6.1 runs",
    }
    run.runner.failures["plan", TWO] = "GPU driver: the old one is loaded; it goes with a reboot"
    assert run.prepare().progress[TWO].why == "GPU driver: the old one is loaded"
    run.fake.needs.clear()
    run.runner.failures.clear()
    assert run.prepare(reboot=True).progress[TWO].why == "reboot"


@pytest.mark.parametrize("how", ["off", "silent", "failed"])
def test_a_node_that_is_off_or_silent_is_left_alone(run: Run, how: str) -> None:
    if how == "off":
        run.runner.off.add(ONE)
    elif how == "silent":
        run.fake.silent.add(ONE)
    else:
        run.runner.failures["plan", ONE] = "cannot be reached: no route to host"
        run.runner.unreached.add(ONE)
    why = {"off": "it is off", "silent": "it does not answer", "failed": "cannot be reached: no route to host"}[how]
    assert run() == {ONE: ("left alone", why), TWO: DONE}


def test_a_node_that_is_off_during_the_apply_fails(run: Run) -> None:
    prepared = run.prepare(ONE)
    run.runner.off.add(ONE)
    hold: Any = run.hold
    Maintenance(run.fake, run.runner, hold, run.notes, prepared, MaintenanceOptions(Bounds(1))).run()
    assert (prepared.progress[ONE].phase, prepared.progress[ONE].why) == ("failed", "it was skipped: it is off")


def test_if_all_nodes_are_left_alone_no_plan_is_made(run: Run) -> None:
    for name in (ONE, TWO):
        run.slurm.drain(name, "disk is replaced")
    assert {phase for phase, _ in run().values()} == {"left alone"}
    assert run.runner.runs == []
