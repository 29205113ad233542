"""Machines join the small cluster and nodes leave it: what is refused, what is undone, where another run goes on."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_controller import FakeController
from fake_door import FakeDoor, Notes
from inventories import SMALL, copied
from ssh_server import new_key

from gpupool.cluster.complaints import BadInventoryError
from gpupool.cluster.load import load
from gpupool.errors import GpupoolError, UsageError
from gpupool.facts.hardware import Machine
from gpupool.joining import host_key, retire, written
from gpupool.joining.decide import Wish
from gpupool.joining.host_key import Pins, pin, pinned
from gpupool.joining.onboard import HEARD_SECONDS, Onboarded, Onboarding
from gpupool.joining.prepare import Prepared, prepare
from gpupool.joining.steps import Commands, probe
from gpupool.operations import ambient
from gpupool.target import Target
from gpupool.upkeep.drain import drain
from gpupool.upkeep.reserve import reserve

NAME = "gpupool_onboarding"
NEW = "gpu-3"
ADDRESS = "10.90.2.3"
BOX = Machine(
    "x86_64", "", 64, 2, 16, 2, 515574, 448605, (("sda", 480_103_981_056),), ("NVIDIA A40",) * 8, (), ()
)  # fmt: skip


class Person:
    """Agrees to all keys, or to none."""

    def __init__(self, agrees: bool = True) -> None:
        self.agrees = agrees

    def accepts(self, keys: Mapping[str, Sequence[str]]) -> Collection[str]:
        return [one for prints in keys.values() for one in prints if self.agrees]


class Site:
    """A copy of the small inventory, and machines that may join it."""

    def __init__(self, fake: FakeController, folder: Path, *changes: tuple[str, str]) -> None:
        self.folder = copied(SMALL, folder / "site", *changes)
        self.pins = Pins(folder / ".ssh" / "known_hosts", (ADDRESS,))
        self.pins.file.parent.mkdir(mode=0o700)
        (config := self.pins.file.with_name("config")).write_text(f"UserKnownHostsFile {self.pins.file}\n")
        config.chmod(0o600)
        cluster = load(self.folder)
        self.target = Target(cluster, None, {}, self.folder)
        fake.lead_to(self.target)
        self.fake, self.slurm, self.notes = fake, fake.slurm, Notes()
        self.door = FakeDoor(self.target, "onboard")
        key = new_key(folder / "key")
        self.key = f"{key.get_name()} {key.get_base64()}"
        self.machines: dict[str, Machine | None] = {}
        self.text = self.written()

    def written(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("*.yml")))

    def prepare(
        self,
        *asked: str,
        hardware: str | None = None,
        network: int | None = None,
        replaces: bool = False,
        agrees: bool = True,
    ) -> Prepared:
        words = asked or (NEW, ADDRESS)
        wish, person = Wish(hardware, None, network), Person(agrees)
        original = written.opened(self.folder)
        return prepare(self.fake, self.door, original, words, wish, on="nodes", replace=replaces, person=person)

    def onboard(self, *asked: str, network: int | None = None, replaces: bool = False) -> Onboarded:
        prepared = self.prepare(*asked, network=network, replaces=replaces)
        self.fake.lead_to(prepared.after)
        return Onboarding(self.fake, self.door, self.notes, prepared).run()

    def runs(self) -> list[tuple[str, tuple[str, ...]]]:
        return [run for run in self.door.runs if run[0] != "look at machines"]


@pytest.fixture
def site(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    it = Site(fake, tmp_path)
    monkeypatch.setattr(host_key, "scan", lambda nodes, name: (it.key,))

    class Host:
        @property
        def name(self) -> str:
            return it.door.looked_at[-1]

        def get_fact(self, fact: object) -> Machine | None:
            return it.machines.get(self.name, BOX)

    monkeypatch.setattr(ambient, "this_host", Host)

    def known(names: tuple[str, ...]) -> None:
        for node in fake.target.cluster.having("compute"):
            if "ctl" in names:
                fake.slurm.add(node)

    it.door.effects["apply"] = known
    return it


# Preparing


def test_a_machine_is_compared_written_down_and_reaches_nobody_yet(site: Site) -> None:
    prepared = site.prepare()
    assert (prepared.machines, prepared.others) == ({NEW: BOX}, ("ctl",))
    assert prepared.after.cluster.nodes[NEW].gpus == {"a40": 8}
    assert site.written() == site.text
    assert site.door.runs == [("look at machines", (NEW,))]
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
        site.door.failures["look at machines", NEW] = "cannot be reached: no route to host"
        why = "gpu-3: cannot be reached: no route to host"
    with pytest.raises(GpupoolError, match=why):
        site.prepare()
    assert pinned(site.pins) == ()


def test_the_commands_of_all_looks_are_counted(site: Site) -> None:
    commands = Commands()
    probe(site.door, {NEW: ADDRESS, "gpu-4": "10.90.2.4"}, commands)
    probe(site.door, {NEW: ADDRESS}, commands)
    assert commands.sent == {NEW: 2, "gpu-4": 1}


def test_a_node_that_is_in_the_inventory_is_refused(site: Site) -> None:
    with pytest.raises(UsageError, match=r"gpu-2 is already in the inventory, with address 10\.90\.2\.2"):
        site.prepare("gpu-2", "10.90.2.2")
    assert site.door.runs == []


@pytest.mark.parametrize("how", ["drained", "reserved"])
def test_an_onboarding_that_was_killed_after_the_inventory_was_written_goes_on(site: Site, how: str) -> None:
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


def test_a_replaced_node_keeps_the_hardware_that_it_was_declared_with(site: Site) -> None:
    assert site.prepare("gpu-2", replaces=True).choices["gpu-2"].hardware == "box"
    site.machines["gpu-2"] = replace(BOX, cpus=32)
    with pytest.raises(GpupoolError, match="gpu-2: it is not box: 32 CPUs, not 64"):
        site.prepare("gpu-2", replaces=True)


def test_a_refused_key_ends_it_before_the_machine_is_logged_in_to(site: Site) -> None:
    with pytest.raises(GpupoolError, match="the host key was not accepted"):
        site.prepare(agrees=False)
    assert site.door.runs == []


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


def test_jobs_on_a_node_that_is_replaced_are_waited_for(site: Site) -> None:
    job = site.slurm.run_job("gpu-2")
    site.fake.clock.after(600, lambda: site.slurm.jobs.remove(job))
    began = site.fake.clock.now
    site.onboard("gpu-2", replaces=True)
    assert site.fake.clock.now - began >= 600
    assert site.fake.did("scancel") == []
    assert site.fake.did("systemctl stop slurmd") == []
    assert "state=drain 'reason=gpupool: onboarding: another machine'" in site.fake.acts()[0]


def test_a_node_that_others_have_drained_is_refused_before_anything_changes(site: Site) -> None:
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

    site.door.effects["apply"] = late
    assert site.onboard().names == (NEW,)


def refused(site: Site, why: str, *asked: str, network: int | None = None, replaces: bool = False) -> str:
    """Return what an onboarding that is refused ends with; the inventory is as it was."""
    with pytest.raises(GpupoolError, match=why) as error:
        site.onboard(*asked, network=network, replaces=replaces)
    assert site.written() == site.text
    assert site.slurm.reservations == {}
    return str(error.value).split("\n")[-1]


UNDONE = "gpu-3: not in Slurm, and the inventory is unchanged"


def test_a_slurmd_that_stays_silent_is_refused_and_taken_out_of_slurm_again(site: Site) -> None:
    def silent(names: tuple[str, ...]) -> None:
        for node in site.fake.target.cluster.having("compute"):
            site.slurm.add(node)
        site.slurm.nodes[NEW].flags = [*dict.fromkeys((*site.slurm.nodes[NEW].flags, "NOT_RESPONDING"))]

    site.door.effects["apply"] = silent
    began = site.fake.clock.now
    assert refused(site, "gpu-3: slurmctld does not hear from it") == UNDONE
    assert site.fake.clock.now - began >= HEARD_SECONDS


def test_what_the_acceptance_finds_takes_the_node_out_of_slurm_again(site: Site) -> None:
    site.fake.problems[NEW] = ["no device file /dev/nvidia7", "docker info fails"]
    assert refused(site, "gpu-3: no device file /dev/nvidia7\ngpu-3: docker info fails") == UNDONE
    assert site.runs()[-1] == ("apply", ("ctl",)), "the controllers forget it"
    assert [node for node, text in site.fake.asked if "disable --quiet --now slurmd" in text] == [NEW]


def test_a_test_job_that_fails_does_so_too(site: Site) -> None:
    add = site.door.effects["apply"]

    def spoiled(names: tuple[str, ...]) -> None:
        add(names)
        site.slurm.nodes[NEW].test = "GPU 0: memory error"

    site.door.effects["apply"] = spoiled
    assert refused(site, "gpu-3: GPU 0: memory error") == UNDONE


def test_a_deploy_that_fails_does_so_too(site: Site) -> None:
    site.door.failures["apply", NEW] = "Packages: no space left on device"
    assert refused(site, "gpu-3: Packages: no space left on device") == UNDONE


def test_a_lost_machine_is_out_of_slurm_all_the_same(site: Site) -> None:
    site.door.failures["apply", NEW] = "lost: no answer for 60 s"
    add = site.door.effects["apply"]

    def lost(names: tuple[str, ...]) -> None:
        add(names)
        site.fake.silent |= {NEW} & {*names}

    site.door.effects["apply"] = lost
    assert refused(site, "gpu-3: lost") == UNDONE


def test_what_cannot_be_undone_says_what_to_do(site: Site) -> None:
    site.fake.problems[NEW] = ["no device file /dev/nvidia7"]
    site.fake.refused["^reserve gpupool_onboarding ''$"] = "Access denied"
    with pytest.raises(GpupoolError, match=r"gpu-3: cannot be removed from Slurm again: .*\(run `gpupool apply`\)"):
        site.onboard()
    assert site.written() == site.text


def test_a_replaced_node_that_is_refused_stays_drained(site: Site) -> None:
    site.fake.problems["gpu-2"] = ["no device file /dev/nvidia7"]
    last = refused(site, "gpu-2: no device file", "gpu-2", replaces=True)
    assert last == "gpu-2: drained, and stays out of service; the inventory was not changed"
    assert site.slurm.nodes["gpu-2"].reason == "gpupool: onboarding: refused"
    assert "DRAIN" in site.slurm.nodes["gpu-2"].flags


def test_an_interrupted_deploy_ends_it_with_the_node_drained(site: Site) -> None:
    site.door.interrupted.add("apply")
    with pytest.raises(KeyboardInterrupt):
        site.onboard()
    assert site.written() == site.text


def test_a_slow_link_is_refused_before_the_test_job(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = lambda *_: iter(["gpu-3: eno1 has 1000 Mbit/s towards fs1, less than 10000"])  # noqa: E731
    monkeypatch.setattr("gpupool.joining.network.slow", slow)
    assert refused(site, "gpu-3: eno1 has 1000 Mbit/s", network=10_000) == UNDONE
    assert site.fake.did("^srun") == []


# Leaving


def leave(site: Site, *selector: str) -> retire.Retired:
    leaving = retire.prepare(site.target, written.opened(site.folder), ",".join(selector), on="nodes")
    return retire.Retirement(site.fake, site.door, site.notes, leaving).run()


@pytest.fixture
def wide(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """With a node more than labs own."""
    changes = ("gpu-[1-2]", "gpu-[1-3]"), ("10.90.2.[1-2]", "10.90.2.[1-3]")
    it = Site(fake, tmp_path, *changes)
    fake.slurm.add(it.target.cluster.nodes[NEW])
    it.door.effects["apply"] = lambda names: [fake.slurm.nodes.pop(NEW, None) for name in names if name == "ctl"]  # type: ignore[assignment,return-value]
    here = SimpleNamespace(here=lambda: (it.target.cluster, it.target.cluster.nodes[NEW]))
    monkeypatch.setattr("gpupool.engine.here.here", here.here)
    return it


def test_a_node_leaves_slurm_before_its_own_daemons_stop_and_the_inventory_comes_last(wide: Site) -> None:
    pin(wide.pins, [wide.key])
    done = leave(wide, NEW)
    assert (done.names, done.left, done.commands) == ((NEW,), {}, {"ctl": 1, NEW: 1})
    assert wide.runs() == [("apply", ("ctl",)), ("leave", (NEW,))]
    assert wide.fake.acts() == [
        "scontrol update nodename=gpu-3 state=drain 'reason=gpupool: retiring: leaves the cluster'"
    ]
    assert "gpu-[1-3]" not in wide.written()
    assert pinned(wide.pins) == ()
    assert done.later == {"/etc/hosts": 2}


def test_the_jobs_of_a_leaving_node_are_waited_for(wide: Site) -> None:
    job = wide.slurm.run_job(NEW)
    wide.fake.clock.after(600, lambda: wide.slurm.jobs.remove(job))
    began = wide.fake.clock.now
    leave(wide, NEW)
    assert wide.fake.clock.now - began >= 600


def test_a_node_that_others_have_drained_leaves_all_the_same(wide: Site) -> None:
    wide.slurm.drain(NEW, "disk is replaced")
    assert leave(wide, NEW).names == (NEW,)
    assert wide.fake.acts() == []


def test_a_node_that_slurmctld_has_forgotten_leaves_without_a_drain(wide: Site) -> None:
    del wide.slurm.nodes[NEW]
    assert leave(wide, NEW).names == (NEW,)
    assert wide.fake.acts() == []


def test_a_node_that_slurmctld_still_knows_stays_in_the_inventory(wide: Site) -> None:
    wide.door.effects.clear()
    before = wide.written()
    with pytest.raises(GpupoolError, match="slurmctld still knows gpu-3: run `gpupool apply`"):
        leave(wide, NEW)
    assert wide.written() == before
    assert [what for what, _ in wide.runs()] == ["apply"]


def test_a_broken_node_leaves_and_what_stays_there_is_said(wide: Site) -> None:
    wide.door.failures["leave", NEW] = "cannot be reached: no route to host"
    assert leave(wide, NEW).left == {NEW: "cannot be reached: no route to host"}
    assert "gpu-[1-3]" not in wide.written()


@pytest.mark.parametrize("what", ["apply", "leave"])
def test_an_interrupted_retirement_leaves_the_inventory_as_it_was(wide: Site, what: str) -> None:
    wide.door.interrupted.add(what)
    before = wide.written()
    with pytest.raises(KeyboardInterrupt):
        leave(wide, NEW)
    assert wide.written() == before


def test_controllers_that_cannot_be_changed_stop_it(wide: Site) -> None:
    wide.door.failures["apply", "ctl"] = "Slurm configuration: refused"
    with pytest.raises(GpupoolError, match="ctl: Slurm configuration: refused"):
        leave(wide, NEW)
    assert [what for what, _ in wide.runs()] == ["apply"]


@pytest.mark.parametrize(
    ("selector", "error", "why"),
    [
        ("nosuch", UsageError, "nosuch"),
        ("ctl", UsageError, "ctl: only nodes whose only role is compute can be retired"),
        ("gpu-1,gpu-2,gpu-3", BadInventoryError, ""),
    ],
)
def test_what_cannot_leave_is_refused(wide: Site, selector: str, error: type[GpupoolError], why: str) -> None:
    with pytest.raises(error, match=why):
        leave(wide, selector)
    assert wide.fake.acts() == []


def test_what_an_admin_needs_to_log_in_stays_on_the_machine(wide: Site) -> None:
    stays = retire._stays(wide.target.cluster, wide.target.cluster.nodes[NEW])
    assert "/etc/hosts" in stays
    assert any("sshd" in path for path in stays)
    assert not [path for path in stays if "slurm" in path]


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
