"""An upgrade of controllers and compute nodes: waits, nodes that stay drained, and failures that stop the others."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_controller import FakeController
from inventories import SMALL, copied
from upgrading import NODES, SLURM, Run

from gpupool.cluster.load import load
from gpupool.errors import GpupoolError
from gpupool.target import Target
from gpupool.upgrade.run import REGISTER_SECONDS
from gpupool.upkeep.drain import drain
from gpupool.upkeep.state import states


def test_a_slurmctld_that_does_not_start_with_the_new_release_stops_the_upgrade(run: Run) -> None:
    run.runner.effects.pop("apply")
    began = run.fake.clock.now
    with pytest.raises(GpupoolError, match=r"no slurmctld 26\.05 after 180 s \(slurmctld 24\.11\.5 answers\); fix it"):
        run()
    assert run.fake.clock.now - began >= REGISTER_SECONDS
    assert run.steps()[-1] == ("apply", ("ctl",))


def test_a_silent_slurmctld_stops_the_upgrade_and_a_late_one_does_not(run: Run) -> None:
    def late(names: tuple[str, ...]) -> None:
        run.slurm.away = True
        run.fake.clock.after(90, lambda: back(names))

    def back(names: tuple[str, ...]) -> None:
        run.slurm.away = False
        run._controllers(names)

    run.runner.effects["apply"] = late

    def changed(names: tuple[str, ...]) -> None:
        run._changed(names)
        run.runner.effects.pop("apply", None)

    run.runner.effects["change"] = changed
    run()
    assert run.steps()[-1][0] == "tidy"


def test_a_silent_slurmctld_is_abandoned_after_its_time(run: Run) -> None:
    run.runner.effects["apply"] = lambda _: setattr(run.slurm, "away", True)
    with pytest.raises(GpupoolError, match=r"no slurmctld 26\.05 after \d+ s \(no controller answers"):
        run()


def test_after_a_refused_slurm_conf_the_next_run_starts_slurmctld_and_goes_on(run: Run) -> None:
    starts = run.runner.effects.pop("apply")
    run.runner.failures["apply", "ctl"] = "Slurm configuration: refused, nothing is replaced"
    with pytest.raises(GpupoolError, match=r"ctl: Slurm configuration: .*\n?.*it already has the packages"):
        run()
    run.slurm.away = True
    run.runner.changes["look", "ctl"] = []
    run.fake.replaced["gpu-1"] = f"{int(run.fake.clock.time())} 23.11.4-1\n"
    run.runner.failures.clear()
    run.runner.runs.clear()

    def back(names: tuple[str, ...]) -> None:
        run.slurm.away = False
        starts(names)

    run.runner.effects["apply"] = back
    run()
    begun = [step for step in run.steps() if step[0] != "fetch"]
    assert begun[:2] == [("apply", ("ctl",)), ("change", ("gpu-1",))]


def test_a_first_compute_node_that_fails_is_left_drained_and_stops_all_others(run: Run) -> None:
    run.runner.failures["change", "gpu-1"] = "Slurm: dpkg was interrupted"
    with pytest.raises(GpupoolError, match=r"gpu-1: Slurm: dpkg was .*\ngpu-1 stay drained, and the upgrade stops"):
        run(at_most=4)
    assert run.slurm.nodes["gpu-1"].reason == "gpupool: upgrade: failed: Slurm: dpkg was interrupted"
    assert run.slurm.nodes["gpu-2"].flags == []
    assert run.steps()[-1] == ("change", ("gpu-1",))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda node: setattr(node, "version", "24.11.5"), "slurmctld reports IDLE, slurmd 24.11.5"),
        (lambda node: node.flags.append("DOWN"), "slurmctld reports DOWN+DRAIN, slurmd 26.05.5"),
        (lambda node: node.flags.append("INVALID_REG"), "slurmctld reports DRAIN+IDLE+INVALID_REG, slurmd 26.05.5"),
        (lambda node: setattr(node, "version", "") or node.flags.append("NOT_RESPONDING"), "slurmd not registered"),
    ],
)  # fmt: skip
def test_a_node_that_does_not_register_with_the_new_slurmd_is_left_drained(
    run: Run, spoil: Callable[[Any], None], why: str
) -> None:
    def changed(names: tuple[str, ...]) -> None:
        run._changed(names)
        spoil(run.slurm.nodes[names[0]])

    run.runner.effects["change"] = changed
    began = run.fake.clock.now
    with pytest.raises(GpupoolError, match="gpu-1 stay drained") as error:
        run()
    assert run.fake.clock.now - began >= REGISTER_SECONDS
    assert why.replace("IDLE,", "DRAIN+IDLE,") in str(error.value)
    assert "DRAIN" in run.slurm.nodes["gpu-1"].flags


def test_a_node_that_registers_late_is_waited_for(run: Run) -> None:
    run.runner.effects["change"] = lambda names: run.fake.clock.after(100, lambda: run._changed(names))
    run()
    assert not any(node.flags for node in run.slurm.nodes.values())


def test_a_node_unknown_to_slurmctld_is_named(run: Run) -> None:
    run.runner.effects["change"] = lambda names: run.slurm.nodes.pop(names[0]) and None
    with pytest.raises(GpupoolError, match="gpu-1"):
        run()


def test_a_node_drained_by_an_earlier_run_is_resumed_even_if_it_is_upgraded(run: Run) -> None:
    run.fake.packages["ctl slurmdbd"] = "26.05.5-1"
    drain(run.fake, [run.fake.target.cluster.nodes["gpu-2"]], "upgrade", "Slurm 26.05")
    for name in NODES:
        run.runner.changes.pop(("look", name))
    run.runner.changes["look", "ctl"] = ["Slurm | slurmd"]
    run()
    assert ("change", ("gpu-2",)) in run.steps()
    assert ("change", ("gpu-1",)) not in run.steps()
    assert not any(state.drained for state in states(run.fake, run.fake.target.cluster.having("compute")).values())


def test_a_drain_by_others_is_kept(run: Run) -> None:
    run.slurm.drain("gpu-1", "disk is replaced")
    run()
    assert (run.slurm.nodes["gpu-1"].reason, run.slurm.nodes["gpu-1"].flags) == ("disk is replaced", ["DRAIN"])
    assert run.slurm.nodes["gpu-1"].version == "26.05.5"


@pytest.mark.parametrize(
    ("what", "why"), [("apply", "it already has the packages of Slurm 26.05"), ("tidy", "fix it, then")]
)
def test_a_failure_at_the_end_is_reported_with_the_next_command(run: Run, what: str, why: str) -> None:
    run.runner.failures[what, "gpu-2"] = "Slurm configuration: no space left on device"
    with pytest.raises(GpupoolError, match=f"gpu-2: Slurm configuration: no space left on device\n{why}"):
        run()


@pytest.mark.parametrize("looks", range(5))
def test_a_lost_lock_ends_the_upgrade_before_the_next_step(run: Run, looks: int) -> None:
    run.hold.looks = looks
    with pytest.raises(GpupoolError, match="holds the lock is lost"):
        run()
    done = [(), ("database", "apply"), ("database", "apply"), ("database", "apply", "change")]
    expected = [*done, (*done[3], "change")][looks]
    assert tuple(what for what, _ in run.steps()) == ("fetch", *expected)


def test_an_interrupted_change_leaves_the_node_drained(run: Run) -> None:
    run.runner.interrupted.add("change")
    with pytest.raises(KeyboardInterrupt):
        run()
    assert run.slurm.nodes["gpu-1"].reason.startswith("gpupool: upgrade: Slurm 26.05")


def test_daemons_on_separate_nodes_have_separate_stages(fake: FakeController, tmp_path: Any) -> None:
    apart = (
        "roles: [head, controller, database]}",
        "roles: [controller]}\n  - {name: db, address: 10.90.1.2, roles: [database]}\n"
        "  - {name: login, address: 10.90.1.3, roles: [head]}",
    )
    testbed = ('{nodes: "ctl,gpu-1"}', '{nodes: "ctl,db,gpu-1"}')
    fake.lead_to(Target(load(copied(SMALL, tmp_path / "apart", SLURM, apart, testbed)), None, {}))
    run = Run(fake)
    fake.packages["db slurmdbd"] = "24.11.5-4"
    nodes = tuple(fake.target.cluster.nodes)
    for name in nodes:
        run.runner.changes["look", name] = ["Slurm | slurmd"]
    run.runner.effects["database"] = lambda _: fake.packages.update({"db slurmdbd": "26.05.5-1"})
    run()
    assert run.steps() == [
        ("fetch", nodes),
        ("database", ("db",)),
        ("change", ("ctl",)),
        ("apply", ("ctl",)),
        ("change", ("gpu-1",)),
        ("change", ("gpu-2",)),
        ("change", ("login",)),
        ("apply", nodes),
        ("tidy", nodes),
    ]
    assert [node for node, text in fake.asked if text.endswith(" make")] == ["db", "ctl"]
