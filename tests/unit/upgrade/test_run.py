"""An upgrade until slurmdbd runs with its converted database: the order, refusals, and the rollback."""

import pytest
from upgrading import DBD_FAILS, NODES, Run

from gpupool.compile.system.backup import COMMAND
from gpupool.errors import GpupoolError
from gpupool.reasons import Code, Reason
from gpupool.upgrade.rollback import Rollback
from gpupool.upgrade.run import SLURMDBD_DOWN

WAY_BACK = {"backup": "/srv/backup/database-1.sql.gz", "old": "slurmdbd=24.11.5-4\nslurmctld=24.11.5-4\n"}


def test_stages_run_in_slurms_order_and_files_are_removed_at_the_end(run: Run) -> None:
    run(at_most=2)
    assert run.steps() == [
        ("fetch", NODES),
        ("database", ("ctl",)),
        ("apply", ("ctl",)),
        ("change", ("gpu-1",)),
        ("change", ("gpu-2",)),
        ("apply", NODES),
        ("tidy", NODES),
    ]
    assert run.fake.did("make$") == [f"{COMMAND} make"]
    assert run.fake.did("update nodename")[:2] == [
        "scontrol update nodename=gpu-1 state=drain 'reason=gpupool: upgrade: Slurm 26.05; running jobs continue'",
        "scontrol update nodename=gpu-1 state=undrain",
    ]
    assert all(not node.flags and node.version == "26.05.5" for node in run.slurm.nodes.values())
    assert ("ctl", "slurmctld 26.05.5 answers") in run.notes.steps
    assert ("gpu-2", "slurmd 26.05 is registered") in run.notes.steps
    assert run.runner.runs[1] == ("plan", ("ctl",))
    assert ("keep powered up", NODES) in run.runner.runs


def test_jobs_are_neither_waited_for_nor_ended(run: Run) -> None:
    run.slurm.run_job("gpu-1")
    run()
    assert [job.id for job in run.slurm.jobs] == ["1"]
    assert run.fake.did("squeue|scancel") == []


# Refusals before it begins


def test_each_node_that_cannot_be_upgraded_is_named_and_nothing_changes(run: Run) -> None:
    run.runner.failures.update({("look", name): "Packages: apt has no Slurm 26.05" for name in ("gpu-1", "gpu-2")})
    with pytest.raises(GpupoolError, match=r"gpu-1: .*\ngpu-2: .*\n2 nodes cannot be upgraded, and nothing"):
        run()
    assert run.steps() == []


def test_a_lost_compute_node_is_upgraded_later_and_a_lost_controller_is_refused(run: Run) -> None:
    run.runner.failures["look", "gpu-2"] = "cannot be reached: no route to host"
    run.runner.reasons["look", "gpu-2"] = run.runner.reasons["look", "ctl"] = Reason(Code.UNREACHABLE)
    run.runner.changes.pop(("look", "gpu-2"))
    prepared = run.prepare()
    assert (prepared.lost, prepared.reached, prepared.todo) == (("gpu-2",), ("ctl", "gpu-1"), ("ctl", "gpu-1"))
    run()
    assert ("apply", ("ctl", "gpu-1")) in run.steps()
    run.runner.failures["look", "ctl"] = "cannot be reached: no route to host"
    with pytest.raises(GpupoolError, match=r"ctl: cannot be reached: .*\n1 node cannot be upgraded"):
        run.prepare()


def test_files_of_an_earlier_upgrade_alone_are_no_work(run: Run) -> None:
    run.fake.packages["ctl slurmdbd"] = "26.05.5-1"
    for name in NODES:
        run.runner.changes["look", name] = ["Afterwards | files of the upgrade"]
    assert run.prepare().todo == ()
    run()
    assert run.steps() == [("apply", NODES), ("tidy", NODES)]


@pytest.mark.parametrize("what", ["changes", "failures"])
def test_other_changes_where_daemons_stop_are_refused_before_the_upgrade(run: Run, what: str) -> None:
    if what == "changes":
        run.runner.changes["plan", "ctl"] = ["Slurm configuration | /etc/slurm/slurm.conf"]
    else:
        run.runner.failures["plan", "ctl"] = "Slurm configuration: slurmctld refuses it"
    why = {"changes": "other changes than slurm.version", "failures": "slurmctld refuses it\nnothing was changed"}
    with pytest.raises(GpupoolError, match=why[what]):
        run()
    assert run.steps() == []
    run.fake.packages["ctl slurmdbd"] = "26.05.5-1"
    assert run.prepare().todo == NODES, "once it has begun there, it goes on"


def test_an_interrupted_probe_ends_the_upgrade(run: Run) -> None:
    run.runner.interrupted.add("look")
    with pytest.raises(KeyboardInterrupt):
        run()


# The backup


def test_a_failed_backup_stops_the_upgrade_before_a_change(run: Run) -> None:
    run.fake.refused["make$"] = "no space left on device"
    with pytest.raises(GpupoolError, match="no space left on device; nothing was changed"):
        run()
    assert run.steps() == [("fetch", NODES)]


def test_a_database_that_has_the_new_release_is_not_backed_up_again(run: Run) -> None:
    run.fake.packages["ctl slurmdbd"] = "26.05.5-1"
    run()
    assert run.fake.did("make$") == []


def test_a_failed_download_stops_the_upgrade_before_the_backup(run: Run) -> None:
    run.runner.failures["fetch", "gpu-1"] = "Packages: no space left on device"
    with pytest.raises(GpupoolError, match="gpu-1: Packages: no space left on device\nnothing was changed"):
        run()
    assert run.fake.did("make$") == []


def test_without_a_slurmdbd_there_is_no_release_and_no_former_cluster(run: Run) -> None:
    run.fake.packages.clear()
    rollback = Rollback(run.fake, run.runner)
    assert (rollback.release(), rollback.former()) == ("", None)


# slurmdbd and its database


def fails(run: Run, why: str, release: str = "26.05.5-1", reason: Reason = SLURMDBD_DOWN) -> str:
    """Let slurmdbd fail with the packages of a release; return the failure of the upgrade."""
    run.runner.failures["database", "ctl"] = why
    run.runner.reasons["database", "ctl"] = reason
    run.runner.effects["database"] = lambda _: run.fake.packages.update({"ctl slurmdbd": release})
    with pytest.raises(GpupoolError) as error:
        run()
    assert [what for what, _ in run.steps()][:2] == ["fetch", "database"]
    assert not [nodes for what, nodes in run.steps() if what in ("apply", "change")], "no other node changes"
    return str(error.value)


@pytest.mark.parametrize("why", [DBD_FAILS, "Slurm: slurmdbd.service cannot be started"])
def test_a_slurmdbd_that_fails_with_its_converted_database_is_rolled_back(run: Run, why: str) -> None:
    run.keep(**WAY_BACK)
    message = fails(run, why)
    assert run.steps()[-1] == ("back", ("ctl",))
    first, rest = message.split("\n")
    assert first == f"ctl: {why}"
    assert rest.startswith("ctl has Slurm 24.11.5-4 again, and slurmdbd answers with the database of database-1.sql.gz")
    assert rest.endswith("Set slurm.version back to 24.11, or repair the database and run this again")


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("lost: no answer for 60 s", Reason()),
        ("cannot read the state of slurmdbd.service from systemd: no answer within 30 s", Reason(Code.REFUSED)),
        ("MariaDB: mariadb.service does not start", Reason(Code.UNIT_DOWN, "mariadb.service")),
        (DBD_FAILS, Reason()),
    ],
)
def test_no_other_failure_rolls_the_database_back(run: Run, why: str, reason: Reason) -> None:
    run.keep(**WAY_BACK)
    assert "the other nodes are unchanged: fix it" in fails(run, why, reason=reason)
    assert run.steps()[-1][0] == "database"


def test_if_the_former_packages_are_installed_nothing_was_converted(run: Run) -> None:
    run.keep(**WAY_BACK)
    assert fails(run, DBD_FAILS, "24.11.5-4").endswith("; nothing was converted, and the other nodes are unchanged")
    assert run.steps()[-1][0] == "database"


@pytest.mark.parametrize("missing", ["backup", "old"])
def test_without_the_former_packages_or_the_backup_no_rollback_is_possible(run: Run, missing: str) -> None:
    run.keep(**{name: text for name, text in WAY_BACK.items() if name != missing})
    assert "ctl: cannot roll back: " in fails(run, DBD_FAILS)
    assert run.steps()[-1][0] == "database"


def test_a_failed_rollback_names_the_daemons_that_still_run(run: Run) -> None:
    run.keep(**WAY_BACK)
    run.runner.failures["back", "ctl"] = "Former database: mariadb is not running"
    message = fails(run, DBD_FAILS)
    assert "cannot roll back to slurmdbd 24.11.5-4 with database-1.sql.gz: Former database: mariadb" in message
    assert "jobs keep running" in message


@pytest.mark.parametrize("what", ["database", "back"])
def test_an_interrupted_conversion_or_rollback_ends_the_run(run: Run, what: str) -> None:
    run.keep(**WAY_BACK)
    run.runner.failures["database", "ctl"], run.runner.reasons["database", "ctl"] = DBD_FAILS, SLURMDBD_DOWN
    run.runner.interrupted.add(what)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert ("back", ("ctl",)) in run.steps() or what == "database"


def test_a_killed_rollback_is_finished_first(run: Run) -> None:
    run.keep(**WAY_BACK, back="")
    with pytest.raises(GpupoolError, match=r"an earlier upgrade was killed during its rollback\nctl has Slurm 24\.11"):
        run()
    assert run.runner.runs == [("back", ("ctl",))]


def test_the_rollback_restores_the_former_release(run: Run) -> None:
    former = Rollback(run.fake, run.runner).former()
    assert former
    assert former.slurm.version == "24.11"
    run.fake.packages["ctl slurmdbd"] = "21.08.8-1"
    assert Rollback(run.fake, run.runner).former() == run.fake.target.cluster, (
        "a release that is not known has no files"
    )
