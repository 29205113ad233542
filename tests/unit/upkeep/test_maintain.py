"""Maintenance of the small cluster: the order of nodes, nodes left alone, failures, and continued runs."""

from collections.abc import Callable
from typing import Any

import pytest
from maintaining import NAME, ONE, TWO, Run

from gpupool.errors import GpupoolError
from gpupool.reasons import Code, Reason
from gpupool.remote.controller import NoAnswerError
from gpupool.upkeep.announce import PATH
from gpupool.upkeep.drain import drain
from gpupool.upkeep.maintain import BOOT_SECONDS, SILENT_SECONDS, Maintenance
from gpupool.upkeep.reserve import reserve
from gpupool.upkeep.waves import Bounds, MaintenanceOptions

DONE = ("done", "")


def test_nodes_are_changed_one_by_one_and_nothing_is_left_behind(run: Run) -> None:
    assert run() == {ONE: DONE, TWO: DONE}
    assert run.applied() == [(ONE,), (TWO,)]
    assert run.left_behind() == ({}, {}, [], [])
    texts = [text for _, text in run.fake.asked]
    assert texts.index(f"announce {PATH}") < next(
        n for n, text in enumerate(texts) if text.startswith("scontrol update")
    )
    order = [text for text in run.fake.acts() if "partition" not in text or "srun" in text]
    assert [" ".join(text.split()[:3]) for text in order[:4]] == [
        f"scontrol create reservationname={NAME}",
        f"scontrol update nodename={ONE}",
        f"scontrol update nodename={ONE}",
        "srun --quiet --nodes=1",
    ]
    assert run.fake.acts()[-1] == f"scontrol delete reservationname={NAME}"
    assert run.prepared.progress[ONE].changes == []


def test_the_message_of_the_day_names_the_nodes_and_the_bound(run: Run) -> None:
    seen: list[str] = []
    run.runner.effects["apply"] = lambda _: seen.append(run.fake.files["ctl", PATH])
    run(at_most=2)
    assert seen[0].startswith(f"Maintenance since 2026-11-18 11:06: {ONE}, {TWO}.\n2 nodes at a time, ")
    assert run.fake.files["ctl", PATH] == ""


def test_a_head_without_the_message_is_a_warning_only(run: Run) -> None:
    run.fake.refused["^announce"] = "Read-only file system"
    assert run() == {ONE: DONE, TWO: DONE}
    assert "cannot change the message of the day" in run.notes.warnings["ctl"]


def test_the_first_node_is_changed_alone_even_if_more_are_allowed(run: Run, four: Callable[[], Run]) -> None:
    wide = four()
    assert {phase for phase, _ in wide(at_most=3).values()} == {"done"}
    assert wide.applied() == [("gpu-1",), ("gpu-2", "gpu-3", "gpu-4")]


def test_a_first_node_that_fails_stops_all_others_and_is_left_drained_with_the_reason(run: Run) -> None:
    run.runner.failures["apply", ONE] = "GPU driver: no version 570"
    assert run(at_most=2) == {
        ONE: ("failed", "GPU driver: no version 570"),
        TWO: ("not begun", "gpu-1, the first one, failed"),
    }
    assert run.slurm.nodes[ONE].reason == "gpupool: maintain: failed: GPU driver: no version 570"
    assert "DRAIN" in run.slurm.nodes[ONE].flags
    assert (run.slurm.nodes[TWO].flags, run.slurm.reservations) == ([], {})
    assert run.fake.did("^srun") == []


def test_a_later_node_that_fails_still_counts_as_out(four: Callable[[], Run]) -> None:
    run = four()
    run.runner.failures["apply", TWO] = "GPU driver: it does not load"
    assert run(at_most=1) == {
        ONE: DONE,
        TWO: ("failed", "GPU driver: it does not load"),
        **dict.fromkeys(("gpu-3", "gpu-4"), ("not begun", "gpu-2 failed: no more nodes may be out of service")),
    }


def test_a_failed_test_job_leaves_the_node_drained(run: Run) -> None:
    run.slurm.nodes[ONE].test = "GPU 0: memory error"
    run.fake.problems[TWO] = ["no device file /dev/nvidia0"]
    assert run()[ONE] == ("failed", "GPU 0: memory error")
    assert run.slurm.nodes[ONE].reason == "gpupool: maintain: failed: GPU 0: memory error"


# Jobs


def test_a_node_with_a_job_is_not_changed_before_the_job_has_ended(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpupool.upkeep.drain.LOOK_SECONDS", 60.0)  # each look starts programs
    job = run.slurm.run_job(ONE)
    run.clock.after(3600, lambda: run.slurm.jobs.remove(job))
    began = run.clock.now
    run.runner.effects["apply"] = lambda nodes: seen.append((nodes, run.clock.now - began >= 3600))
    seen: list[tuple[tuple[str, ...], bool]] = []
    assert run(at_most=2) == {TWO: DONE, ONE: DONE}, "one without jobs goes first"
    assert seen == [((TWO,), False), ((ONE,), True)]
    assert run.fake.did("scancel|requeue") == []
    assert (ONE, "waiting for 1 job (1 of ann until 2026-11-26 14:58)") in run.notes.steps


def test_a_node_whose_jobs_take_too_long_is_resumed_unchanged(run: Run) -> None:
    run.slurm.run_job(ONE, ends="N/A")
    assert run(at_most=2, patience=60.0) == {
        TWO: DONE,
        ONE: ("not begun", "its jobs did not end in time: 1 job (1 of ann without a time limit)"),
    }
    assert run.applied() == [(TWO,)]
    assert run.left_behind() == ({}, {}, [], [])


def test_nodes_whose_jobs_end_first_are_changed_first(four: Callable[[], Run]) -> None:
    run = four()
    run.slurm.run_job("gpu-1", ends="N/A")
    run.slurm.run_job("gpu-2", ends="2026-11-26T18:00:00")
    run.slurm.run_job("gpu-3", ends="2026-11-26T12:00:00")
    assert [*run.prepare().progress] == ["gpu-4", "gpu-3", "gpu-2", "gpu-1"]


# Reboots


def test_a_node_that_needs_a_reboot_is_applied_again_before_it_is_accepted(run: Run) -> None:
    run.fake.needs[ONE] = "packages need a reboot"
    run.runner.effects["apply"] = lambda _: run.fake.needs.pop(ONE, None) if len(run.applied()) > 1 else None
    before = run.slurm.nodes[ONE].booted
    assert run(ONE) == {ONE: DONE}
    assert run.applied() == [(ONE,), (ONE,)]
    assert run.slurm.nodes[ONE].booted > before
    assert (ONE, "rebooting: packages need a reboot") in run.notes.steps
    reboots = run.fake.did("^scontrol reboot")
    assert len(reboots) == 1
    texts = [text for _, text in run.fake.asked]
    assert texts.index(reboots[0]) < next(n for n, text in enumerate(texts) if text.startswith("srun"))


def test_a_driver_that_needs_a_reboot_is_a_failure_only_after_it(run: Run) -> None:
    run.runner.failures["apply", ONE] = why = "GPU driver: another one is loaded"
    run.runner.reasons["apply", ONE] = Reason(Code.NEEDS_REBOOT)
    found = run(ONE)
    assert len(run.fake.did("^scontrol reboot")) == 1
    assert found == {ONE: ("failed", why)}


def test_with_reboot_each_node_reboots_once_and_one_rebooted_since_the_start_does_not(run: Run) -> None:
    run.runner.changes.clear()
    run.slurm.nodes[TWO].booted = int(run.clock.now) + 10
    reserve(run.fake, NAME, [run.fake.target.cluster.nodes[TWO]])
    assert run(reboot=True, at_most=2) == {ONE: DONE, TWO: DONE}
    assert [text.split()[-1] for text in run.fake.did("^scontrol reboot")] == [ONE]


def test_a_node_that_does_not_return_fails_after_its_time(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpupool.upkeep.drain.LOOK_SECONDS", 60.0)  # each look starts programs
    run.slurm.nodes[ONE].comes_back = False
    began = run.clock.now
    run.fake.needs[ONE] = "packages need a reboot"
    found = run(ONE)
    assert found == {ONE: ("failed", "it did not come back from its reboot in 40 minutes")}
    assert BOOT_SECONDS <= run.clock.now - began < BOOT_SECONDS + 120
    assert run.slurm.reservations == {}


def test_a_node_that_cannot_be_rebooted_fails(run: Run) -> None:
    run.fake.needs[ONE] = "packages need a reboot"
    run.fake.refused["reboot ASAP|systemctl reboot"] = "Access denied"
    phase, why = run(ONE)[ONE]
    assert (phase, why.split(": ")[0]) == ("failed", "it cannot be rebooted")


def test_a_node_that_does_not_answer_after_its_change_fails(run: Run) -> None:
    run.runner.effects["apply"] = lambda _: run.fake.silent.add(ONE)
    assert run(ONE) == {ONE: ("failed", "it does not answer after its change")}


# Others


def test_a_node_drained_by_others_is_left_alone(run: Run) -> None:
    run.slurm.drain(ONE, "disk is replaced")
    assert run() == {ONE: ("left alone", "drained by others: disk is replaced"), TWO: DONE}
    assert run.slurm.nodes[ONE].reason == "disk is replaced"
    assert run.applied() == [(TWO,)]


@pytest.mark.parametrize("taken", [True, False])
def test_a_node_that_an_admin_takes_over_meanwhile_is_left_alone(run: Run, taken: bool) -> None:
    run.slurm.run_job(ONE)
    run.clock.after(12, lambda: run.slurm.drain(ONE, "disk is replaced") if taken else run.slurm.resume(ONE))
    why = "drained by others: disk is replaced" if taken else "resumed by others"
    assert run(ONE) == {ONE: ("left alone", why)}
    assert run.applied() == []
    assert run.slurm.reservations == {}


def test_a_node_that_an_admin_drains_just_before_its_turn_is_left_alone(run: Run) -> None:
    prepared = run.prepare(ONE)
    run.slurm.drain(ONE, "disk is replaced")
    hold: Any = run.hold
    Maintenance(run.fake, run.runner, hold, run.notes, prepared, MaintenanceOptions(Bounds(1))).run()
    assert prepared.progress[ONE].phase == "left alone"
    assert prepared.progress[ONE].why.startswith("drained by others: disk is replaced")
    assert run.notes.ends[ONE][0] == "left alone"


def test_a_reservation_of_users_is_neither_changed_nor_removed(run: Run) -> None:
    run.slurm.reservations["course"] = ([TWO], 1)
    run(ONE)
    assert run.slurm.reservations == {"course": ([TWO], 1)}


# Interruptions


def begun(run: Run, *nodes: str) -> None:
    """Leave nodes as an earlier run that drained and reserved them, and was killed."""
    chosen_nodes = [run.fake.target.cluster.nodes[name] for name in nodes]
    drain(run.fake, chosen_nodes, "maintain", "2 changes")
    reserve(run.fake, NAME, chosen_nodes)
    run.fake.asked.clear()


def test_nodes_begun_by_an_earlier_run_are_first_and_reserved_before_their_test(run: Run) -> None:
    begun(run, TWO)
    run.runner.changes.clear()
    assert run(at_most=2) == {ONE: ("nothing to do", ""), TWO: DONE}
    assert run.prepared.progress[TWO].why == ""
    assert run.applied() == [(TWO,)]
    assert run.left_behind() == ({}, {}, [], [])


def test_the_start_of_the_first_run_counts(run: Run) -> None:
    began = int(run.clock.now)
    begun(run, TWO)
    run.clock.sleep(7200)
    assert run.prepare().since == began
    assert run.prepare().started == (TWO,)


def test_nodes_of_an_earlier_run_that_are_not_selected_are_named(run: Run) -> None:
    begun(run, TWO)
    with pytest.raises(GpupoolError, match=r"an earlier maintenance was interrupted on gpu-2 and did not finish"):
        run(ONE)
    assert run.fake.acts() == []


def test_a_reboot_of_a_killed_run_is_waited_for(run: Run) -> None:
    begun(run, TWO)
    run.slurm.nodes[TWO].flags, run.slurm.nodes[TWO].reason = ["REBOOT_REQUESTED"], "gpupool: maintain: reboot"
    assert run(TWO) == {TWO: DONE}
    assert (TWO, "waiting for its reboot") in run.notes.steps
    assert run.fake.did("^scontrol reboot") == []


def test_a_node_unknown_to_slurmctld_meanwhile_is_left_alone(run: Run) -> None:
    begun(run, TWO)
    prepared = run.prepare(TWO)
    del run.slurm.nodes[TWO]
    hold: Any = run.hold
    Maintenance(run.fake, run.runner, hold, run.notes, prepared, MaintenanceOptions(Bounds(1))).run()
    assert (prepared.progress[TWO].phase, prepared.progress[TWO].why) == ("left alone", "slurmctld no longer knows it")


@pytest.mark.parametrize("what", ["plan", "apply"])
def test_an_interrupted_run_keeps_its_node_drained_and_reserved(run: Run, what: str) -> None:
    run.runner.interrupted.add(what)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert [*run.slurm.reservations] == ([NAME] if what == "apply" else [])
    assert run.slurm.nodes[ONE].flags == (["DRAIN"] if what == "apply" else [])


def test_a_lost_lock_ends_the_run_before_the_next_node(run: Run) -> None:
    run.hold.looks = 1
    with pytest.raises(GpupoolError, match="holds the lock is lost"):
        run()
    assert run.applied() == [(ONE,)]
    assert run.slurm.nodes[TWO].flags == []


def test_controllers_that_are_silent_for_a_while_are_waited_for(run: Run) -> None:
    def away(nodes: tuple[str, ...]) -> None:
        run.slurm.away = nodes == (ONE,) and not run.notes.steps.count(("controller", "x")) and len(run.applied()) == 1
        run.clock.after(120, lambda: setattr(run.slurm, "away", False))

    run.runner.effects["apply"] = away
    assert run(at_most=1)[ONE] == DONE
    assert any(node == "controller" and "no controller answers" in what for node, what in run.notes.steps)


def test_controllers_that_do_not_return_end_the_run(run: Run) -> None:
    run.runner.effects["apply"] = lambda _: setattr(run.slurm, "away", True)
    began = run.clock.now
    with pytest.raises(NoAnswerError, match="no controller answers"):
        run()
    assert SILENT_SECONDS <= run.clock.now - began <= SILENT_SECONDS + 60


def test_changes_are_counted_in_the_progress(run: Run) -> None:
    run.runner.changes["apply", ONE] = ["GPU driver"]
    run(ONE)
    assert run.prepared.progress[ONE].changes == ["GPU driver"]


def test_only_compute_nodes_are_selected(run: Run) -> None:
    run()
    assert not [text for text in run.fake.did("^scontrol show node") if "ctl" in text]


def test_a_node_that_reboots_itself_counts_as_back_only_after_a_new_boot(run: Run) -> None:
    run.fake.needs[ONE] = "packages need a reboot"
    run.fake.refused["^scontrol reboot"] = "RebootProgram is not set"
    before = run.slurm.nodes[ONE].booted
    seen: list[bool] = []
    run.runner.effects["apply"] = lambda _: seen.append(run.slurm.nodes[ONE].booted > before)
    assert run(ONE) == {ONE: DONE}
    assert seen == [False, True]


@pytest.mark.parametrize("flag", ["DOWN", "REBOOT_ISSUED", "NOT_RESPONDING"])
def test_a_rebooted_node_is_waited_for_until_slurmctld_has_it_back(run: Run, flag: str) -> None:
    node = run.slurm.nodes[ONE]
    run.fake.needs[ONE] = "packages need a reboot"
    run.fake.refused["^scontrol reboot"] = "RebootProgram is not set"
    node.comes_back = False
    began = run.clock.now

    def boots() -> None:
        node.booted, node.flags = int(run.clock.now), [flag]

    run.clock.after(90, boots)
    run.clock.after(300, lambda: node.flags.remove(flag))
    seen: list[float] = []
    run.runner.effects["apply"] = lambda _: seen.append(run.clock.now - began)
    assert run(ONE) == {ONE: DONE}
    assert seen[0] < 90
    assert seen[1] >= 300
