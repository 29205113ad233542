"""Machines join the small cluster: refusals, what is undone, and the point at which another run continues."""

from dataclasses import replace

import pytest
from joining_site import ADDRESS, BOX, NAME, NEW, Site

from gpupool.errors import GpupoolError, UsageError
from gpupool.joining.host_key import pinned
from gpupool.joining.onboard import HEARD_SECONDS
from gpupool.joining.steps import Commands, probe
from gpupool.upkeep.drain import drain
from gpupool.upkeep.reserve import reserve

# Preparing


def test_a_prepared_machine_is_compared_and_only_its_key_is_written(site: Site) -> None:
    prepared = site.prepare()
    assert (prepared.machines, prepared.others) == ({NEW: BOX}, ("ctl",))
    assert prepared.after.cluster.nodes[NEW].gpus == {"a40": 8}
    assert site.written() == site.text
    assert site.runner.runs == [("look at machines", (NEW,))]
    assert prepared.commands.sent == {NEW: 1}
    assert pinned(site.pins) == (site.key,)


def test_a_machine_that_does_not_fit_is_refused_and_its_key_is_forgotten(site: Site) -> None:
    site.machines[NEW] = replace(BOX, gpus=BOX.gpus[:7])
    with pytest.raises(GpupoolError, match=r"gpu-3: 1 of 8 a40 missing \(as on gpu-\[1-2\].*\nnothing was changed"):
        site.prepare()
    assert pinned(site.pins) == ()
    assert site.written() == site.text


def test_of_several_machines_all_that_do_not_fit_are_named(site: Site) -> None:
    site.machines = {NEW: replace(BOX, gpus=()), "gpu-4": replace(BOX, gpus=())}
    with pytest.raises(GpupoolError, match=r"gpu-3: .*\ngpu-4: .*\nnothing was changed"):
        site.prepare("gpu-[3-4]", "10.90.2.[3-4]")


@pytest.mark.parametrize("silent", [True, False])
def test_a_machine_that_does_not_answer_is_named(site: Site, silent: bool) -> None:
    if silent:
        site.machines[NEW] = None
        why = "gpu-3: cannot read the hardware: no answer in time"
    else:
        site.runner.failures["look at machines", NEW] = "cannot be reached: no route to host"
        why = "gpu-3: cannot be reached: no route to host"
    with pytest.raises(GpupoolError, match=why):
        site.prepare()
    assert pinned(site.pins) == ()


def test_the_commands_of_all_probes_are_counted(site: Site) -> None:
    commands = Commands()
    probe(site.runner, {NEW: ADDRESS, "gpu-4": "10.90.2.4"}, commands)
    probe(site.runner, {NEW: ADDRESS}, commands)
    assert commands.sent == {NEW: 2, "gpu-4": 1}


def test_a_node_of_the_inventory_is_refused(site: Site) -> None:
    with pytest.raises(UsageError, match=r"gpu-2 is already in the inventory, with address 10\.90\.2\.2"):
        site.prepare("gpu-2", "10.90.2.2")
    assert site.runner.runs == []


@pytest.mark.parametrize("how", ["drained", "reserved"])
def test_an_onboarding_that_was_killed_after_writing_the_inventory_continues(site: Site, how: str) -> None:
    node = site.target.cluster.nodes["gpu-2"]
    if how == "drained":
        drain(site.fake, [node], "onboarding", "joins")
    else:
        reserve(site.fake, NAME, [node])
    assert site.onboard("gpu-2", "10.90.2.2").names == ("gpu-2",)
    assert site.written() == site.text
    drain(site.fake, [node], "onboarding", "joins")
    with pytest.raises(UsageError, match="already in the inventory"):
        site.prepare("gpu-2", "10.90.2.9")


def test_a_drain_for_other_work_is_no_onboarding(site: Site) -> None:
    drain(site.fake, [site.target.cluster.nodes["gpu-2"]], "maintain", "x")
    with pytest.raises(UsageError, match="already in the inventory"):
        site.prepare("gpu-2", "10.90.2.2")


def test_only_a_compute_node_can_be_replaced(site: Site) -> None:
    with pytest.raises(UsageError, match="ctl: only nodes whose only role is compute can be replaced"):
        site.prepare("ctl", replaces=True)


def test_a_replaced_node_keeps_its_declared_hardware(site: Site) -> None:
    assert site.prepare("gpu-2", replaces=True).choices["gpu-2"].hardware == "box"
    site.machines["gpu-2"] = replace(BOX, cpus=32)
    with pytest.raises(GpupoolError, match="gpu-2: it is not box: 32 CPUs, not 64"):
        site.prepare("gpu-2", replaces=True)


def test_a_refused_key_ends_the_onboarding_before_a_login(site: Site) -> None:
    with pytest.raises(GpupoolError, match="the host key was not accepted"):
        site.prepare(agrees=False)
    assert site.runner.runs == []


# Joining


def test_a_machine_joins_drained_and_reserved_before_its_slurmd_runs(site: Site) -> None:
    done = site.onboard()
    assert done.names == (NEW,)
    assert site.runs() == [("apply", ("ctl",)), ("apply", ("ctl", NEW))]
    assert done.commands == {NEW: 2, "ctl": 2}
    assert done.later == {"/etc/hosts": 2}
    assert f"name: {NEW}" in site.written()
    acts = [" ".join(text.split()[:3]) for text in site.fake.acts() if "partitionname" not in text]
    assert acts == [
        "scontrol update nodename=gpu-3",
        f"scontrol create reservationname={NAME}",
        "scontrol update nodename=gpu-3",
        "srun --quiet --nodes=1",
        f"scontrol delete reservationname={NAME}",
    ]
    assert (site.slurm.nodes[NEW].flags, site.slurm.nodes[NEW].reason) == ([], "")
    stops = [node for node, text in site.fake.asked if "systemctl stop slurmd" in text]
    assert stops == [NEW], "a slurmd that ran there before"


def test_jobs_on_a_replaced_node_are_waited_for(site: Site) -> None:
    job = site.slurm.run_job("gpu-2")
    site.fake.clock.after(600, lambda: site.slurm.jobs.remove(job))
    began = site.fake.clock.now
    site.onboard("gpu-2", replaces=True)
    assert site.fake.clock.now - began >= 600
    assert site.fake.did("scancel") == []
    assert site.fake.did("systemctl stop slurmd") == []
    assert "state=drain 'reason=gpupool: onboarding: another machine'" in site.fake.acts()[0]


def test_a_node_drained_by_others_is_refused_before_a_change(site: Site) -> None:
    site.slurm.drain("gpu-2", "disk is replaced")
    with pytest.raises(GpupoolError, match=r"gpu-2 is drained by others: disk .*: nothing was changed") as error:
        site.onboard("gpu-2", replaces=True)
    assert "scontrol update nodename=gpu-2 state=drain reason='gpupool: onboarding: taken over'" in str(error.value)
    assert (site.runs(), site.fake.acts()) == ([], [])


def test_a_slurmd_that_answers_late_is_waited_for(site: Site) -> None:
    def late(names: tuple[str, ...]) -> None:
        for node in site.fake.target.cluster.having("compute"):
            site.slurm.add(node)
        if NEW in names:
            site.slurm.nodes[NEW].flags.append("NOT_RESPONDING")
            site.fake.clock.after(60, lambda: site.slurm.nodes[NEW].flags.remove("NOT_RESPONDING"))

    site.runner.effects["apply"] = late
    assert site.onboard().names == (NEW,)


def refused(site: Site, why: str, *asked: str, network: int | None = None, replaces: bool = False) -> str:
    """Return the failure of an onboarding that is refused; the inventory stays unchanged."""
    with pytest.raises(GpupoolError, match=why) as error:
        site.onboard(*asked, network=network, replaces=replaces)
    assert site.written() == site.text
    assert site.slurm.reservations == {}
    return str(error.value).split("\n")[-1]


UNDONE = "gpu-3: not in Slurm, and the inventory is unchanged"


def test_a_node_whose_slurmd_does_not_answer_is_removed_from_slurm_again(site: Site) -> None:
    def silent(names: tuple[str, ...]) -> None:
        for node in site.fake.target.cluster.having("compute"):
            site.slurm.add(node)
        site.slurm.nodes[NEW].flags = [*dict.fromkeys((*site.slurm.nodes[NEW].flags, "NOT_RESPONDING"))]

    site.runner.effects["apply"] = silent
    began = site.fake.clock.now
    assert refused(site, "gpu-3: slurmctld gets no answer from it") == UNDONE
    assert site.fake.clock.now - began >= HEARD_SECONDS


def test_a_node_that_fails_the_acceptance_is_removed_from_slurm_again(site: Site) -> None:
    site.fake.problems[NEW] = ["no device file /dev/nvidia7", "docker info fails"]
    assert refused(site, "gpu-3: no device file /dev/nvidia7\ngpu-3: docker info fails") == UNDONE
    assert site.runs()[-1] == ("apply", ("ctl",)), "the controllers forget it"
    assert [node for node, text in site.fake.asked if "disable --quiet --now slurmd" in text] == [NEW]


def test_a_node_whose_test_job_fails_is_removed_from_slurm_again(site: Site) -> None:
    add = site.runner.effects["apply"]

    def spoiled(names: tuple[str, ...]) -> None:
        add(names)
        site.slurm.nodes[NEW].test = "GPU 0: memory error"

    site.runner.effects["apply"] = spoiled
    assert refused(site, "gpu-3: GPU 0: memory error") == UNDONE


def test_a_node_whose_deploy_fails_is_removed_from_slurm_again(site: Site) -> None:
    site.runner.failures["apply", NEW] = "Packages: no space left on device"
    assert refused(site, "gpu-3: Packages: no space left on device") == UNDONE


def test_a_lost_machine_is_removed_from_slurm_too(site: Site) -> None:
    site.runner.failures["apply", NEW] = "lost: no answer for 60 s"
    add = site.runner.effects["apply"]

    def lost(names: tuple[str, ...]) -> None:
        add(names)
        site.fake.silent |= {NEW} & {*names}

    site.runner.effects["apply"] = lost
    assert refused(site, "gpu-3: lost") == UNDONE


def test_a_removal_that_fails_names_the_command_to_run(site: Site) -> None:
    site.fake.problems[NEW] = ["no device file /dev/nvidia7"]
    site.fake.refused["^reserve gpupool_onboarding ''$"] = "Access denied"
    with pytest.raises(GpupoolError, match=r"gpu-3: cannot be removed from Slurm again: .*\(run `gpupool apply`\)"):
        site.onboard()
    assert site.written() == site.text


def test_a_replaced_node_that_is_refused_is_still_drained(site: Site) -> None:
    site.fake.problems["gpu-2"] = ["no device file /dev/nvidia7"]
    last = refused(site, "gpu-2: no device file", "gpu-2", replaces=True)
    assert last == "gpu-2: drained, and stays out of service; the inventory was not changed"
    assert site.slurm.nodes["gpu-2"].reason == "gpupool: onboarding: refused"
    assert "DRAIN" in site.slurm.nodes["gpu-2"].flags


def test_an_interrupted_deploy_leaves_the_node_drained(site: Site) -> None:
    site.runner.interrupted.add("apply")
    with pytest.raises(KeyboardInterrupt):
        site.onboard()
    assert site.written() == site.text


def test_a_slow_link_is_refused_before_the_test_job(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = lambda *_: iter(["gpu-3: eno1 has 1000 Mbit/s towards fs1, less than 10000"])  # noqa: E731
    monkeypatch.setattr("gpupool.joining.network.slow", slow)
    assert refused(site, "gpu-3: eno1 has 1000 Mbit/s", network=10_000) == UNDONE
    assert site.fake.did("^srun") == []


def test_a_replaced_node_gets_the_hardware_of_the_new_machine(site: Site) -> None:
    site.machines["gpu-2"] = replace(BOX, cpus=128, sockets=4)
    prepared = site.prepare("gpu-2", hardware="tall", replaces=True)
    assert prepared.choices["gpu-2"].new
    assert {name: node.cpus for name, node in prepared.after.cluster.nodes.items() if node.gpus} == {
        "gpu-1": 64,
        "gpu-2": 128,
    }


def test_a_fast_link_is_accepted(site: Site) -> None:
    assert site.onboard(network=1000).names == (NEW,)
