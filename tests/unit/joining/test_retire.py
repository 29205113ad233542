"""Nodes leave the small cluster: the order, refusals, and what stays on a broken node."""

import pytest
from joining_site import NEW, Site

from gpupool.cluster.complaints import BadInventoryError
from gpupool.errors import GpupoolError, UsageError
from gpupool.joining import retire, written
from gpupool.joining.host_key import pin, pinned


def leave(site: Site, *selector: str) -> retire.Retired:
    leaving = retire.prepare(site.target, written.read_original(site.folder), ",".join(selector), on="nodes")
    return retire.Retirement(site.fake, site.runner, site.notes, leaving).run()


def test_a_node_leaves_slurm_before_its_daemons_stop_and_the_inventory_is_written_last(wide: Site) -> None:
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


def test_a_node_drained_by_others_is_retired_too(wide: Site) -> None:
    wide.slurm.drain(NEW, "disk is replaced")
    assert leave(wide, NEW).names == (NEW,)
    assert wide.fake.acts() == []


def test_a_node_unknown_to_slurmctld_is_retired_without_a_drain(wide: Site) -> None:
    del wide.slurm.nodes[NEW]
    assert leave(wide, NEW).names == (NEW,)
    assert wide.fake.acts() == []


def test_a_node_that_slurmctld_still_knows_is_kept_in_the_inventory(wide: Site) -> None:
    wide.runner.effects.clear()
    before = wide.written()
    with pytest.raises(GpupoolError, match="slurmctld still knows gpu-3: run `gpupool apply`"):
        leave(wide, NEW)
    assert wide.written() == before
    assert [what for what, _ in wide.runs()] == ["apply"]


def test_a_broken_node_is_retired_and_reported_as_not_cleaned(wide: Site) -> None:
    wide.runner.failures["leave", NEW] = "cannot be reached: no route to host"
    assert leave(wide, NEW).left == {NEW: "cannot be reached: no route to host"}
    assert "gpu-[1-3]" not in wide.written()


@pytest.mark.parametrize("what", ["apply", "leave"])
def test_an_interrupted_retirement_does_not_change_the_inventory(wide: Site, what: str) -> None:
    wide.runner.interrupted.add(what)
    before = wide.written()
    with pytest.raises(KeyboardInterrupt):
        leave(wide, NEW)
    assert wide.written() == before


def test_controllers_that_cannot_be_changed_stop_the_retirement(wide: Site) -> None:
    wide.runner.failures["apply", "ctl"] = "Slurm configuration: refused"
    with pytest.raises(GpupoolError, match="ctl: Slurm configuration: refused"):
        leave(wide, NEW)
    assert [what for what, _ in wide.runs()] == ["apply"]


@pytest.mark.parametrize(
    ("selector", "error", "why"),
    [
        ("nosuch", UsageError, "nosuch"),
        ("ctl", UsageError, "ctl: only nodes whose only role is compute can be retired"),
        ("gpu-1,gpu-2,gpu-3", BadInventoryError, "no node has the role compute"),
    ],
)
def test_a_node_that_is_required_is_not_retired(wide: Site, selector: str, error: type[GpupoolError], why: str) -> None:
    with pytest.raises(error, match=why):
        leave(wide, selector)
    assert wide.fake.acts() == []


def test_files_for_the_login_of_admins_are_kept_on_the_machine(wide: Site) -> None:
    stays = retire._stays(wide.target.cluster, wide.target.cluster.nodes[NEW])
    assert "/etc/hosts" in stays
    assert any("sshd" in path for path in stays)
    assert not [path for path in stays if "slurm" in path]
