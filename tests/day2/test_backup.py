"""Backups on a cluster with jobs: made, found broken, and a lost database restored with the same output of sacct."""

import json
from collections.abc import Iterator
from pathlib import Path

import full
import pytest
from inventories import SMALL, copied
from pace import until

from tests.testbed.cluster import Testbed, docker, gpupool, hang_up, up

NETWORK = "10.185.0.0/16"
HEAD, TO = "ctl", "/srv/backup/slurm"
# with a state, sacct begins now unless a start is given
ENDED = "-S now-2days -E now -s completed,failed"
EVERY_FIELD = f"TZ=UTC sacct -aPD --format=ALL {ENDED}"


@pytest.fixture(scope="module")
def testbed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Testbed]:
    """A small cluster with some ended jobs, and a running one."""
    backup = f"slurm: {{backup: {{to: {TO}, keep: 2}}}}\nscheduler:"
    inventory = copied(SMALL, tmp_path_factory.mktemp("backup") / "small", ("scheduler:", backup))
    try:
        testbed = up(inventory, NETWORK)
        for script in ("srun true", "exit 3", "srun true"):
            testbed.submit("ann", "-p all -G 1", script)
        testbed.wait_for(testbed.submit("ann", "-p all -G 2", "sleep 3600"), "RUNNING")
        ended = f"sacct -anXP {ENDED} | wc -l"
        until(lambda: testbed.out(HEAD, ended) == "3", "three jobs are known to have ended")
        # slurmctld has saved all of them by then
        testbed.out(HEAD, "sleep 10; systemctl start gpupool-backup")
        yield testbed
    finally:
        gpupool("testbed", "down", inventory)


def backups(testbed: Testbed, kind: str) -> list[str]:
    listed = json.loads(testbed.out(HEAD, "gpupool-backup list"))
    return [backup["path"] for backup in listed[kind]["backups"]]


def verify(testbed: Testbed) -> list[str]:
    done = gpupool("verify", testbed.inventory, "--on", "testbed", "--limit", HEAD, "--json")
    return [check["why"] for check in json.loads(done.stdout)["checks"] if not check["ok"]]


def restore(testbed: Testbed, *arguments: str) -> tuple[int, str]:
    done = gpupool("restore", testbed.inventory, "--on", "testbed", *arguments)
    return done.returncode, done.stdout + done.stderr


def test_backups_are_readable_for_root_only_and_the_newest_are_kept(testbed: Testbed) -> None:
    for _ in range(2):
        # the name of a backup has a resolution of one second
        testbed.out(HEAD, "systemctl start gpupool-backup; sleep 1.1")
    for kind in ("database", "state"):
        assert len(backups(testbed, kind)) == 2
    assert set(testbed.out(HEAD, f"stat -c '%U %a %F' {TO} {TO}/*").splitlines()) == {
        "root 700 directory",
        "root 600 regular file",
    }
    assert testbed.run(HEAD, f"ls {TO}", "ann").returncode != 0
    assert testbed.out(HEAD, "systemctl show -P ActiveState gpupool-backup.timer") == "active"
    assert verify(testbed) == []
    assert testbed.plan() == (0, {})


def test_a_failed_backup_is_reported(testbed: Testbed) -> None:
    before = backups(testbed, "database")
    testbed.out(HEAD, "systemctl stop slurmdbd mariadb")
    assert testbed.run(HEAD, "systemctl start gpupool-backup").returncode != 0
    testbed.out(HEAD, "systemctl start mariadb slurmdbd")
    assert backups(testbed, "database") == before
    assert any("the last backup failed: database: no backup: mariadb: " in why for why in verify(testbed))
    testbed.out(HEAD, "systemctl start gpupool-backup")
    assert verify(testbed) == []


def test_an_old_backup_and_a_changed_backup_are_named(testbed: Testbed) -> None:
    newest = backups(testbed, "database")[0]
    testbed.out(HEAD, f"cp {newest} /root/kept; printf x | dd of={newest} bs=1 seek=40 conv=notrunc")
    try:
        assert verify(testbed) == [f"database: {newest} does not match its checksum"]
        for words in (["--drill"], ["--yes", "--aside"]):
            code, output = restore(testbed, *words)
            assert code == 1
            assert "its checksum is wrong" in output.replace("\n", " ")
        assert testbed.out(HEAD, "sacct -anX | wc -l") == "4"
    finally:
        testbed.out(HEAD, f"cp /root/kept {newest}")
    settings = "/etc/gpupool/backup.json"
    testbed.out(HEAD, f"touch -d '3 days ago' {settings}; mkdir /root/away; mv {TO}/state-* /root/away")
    try:
        assert any("state: the last backup is 72 h old: there is none" in why for why in verify(testbed))
    finally:
        testbed.out(HEAD, f"mv /root/away/* {TO}; rmdir /root/away; touch {settings}")


def test_a_drill_lists_what_would_be_restored_and_writes_nothing_on_the_cluster(testbed: Testbed) -> None:
    before = testbed.out(HEAD, f"ls -la --time-style=full-iso {TO}; {EVERY_FIELD}")
    code, output = restore(testbed, "--drill", "--json")
    assert code == 0, output
    found, _ = json.JSONDecoder().raw_decode(output)
    rows = {row["what"]: (row["restored"], row["live"]) for row in found["rows"]}
    assert found["ok"]
    assert sum(here for what, (here, _) in rows.items() if what.startswith("jobs of 20")) == 4
    jobs = rows["the last 3 ended jobs and their steps"]
    assert jobs[0] == jobs[1] > 6
    assert rows["jobs of slurmctld that have not ended"][0] == 1
    assert "slurmdbd and slurmctld 24.11" in found["started"]
    assert testbed.out(HEAD, f"ls -la --time-style=full-iso {TO}; {EVERY_FIELD}") == before


def test_a_drill_finds_a_job_that_the_backup_lacks(testbed: Testbed) -> None:
    gone = "delete from small_job_table where id_job = 1"
    kept = "create table test_kept as select * from small_job_table where id_job = 1"
    testbed.out(HEAD, f"mariadb slurm_acct_db -e '{kept}; {gone}'; systemctl start gpupool-backup")
    testbed.out(HEAD, "mariadb slurm_acct_db -e 'insert into small_job_table select * from test_kept'")
    testbed.out(HEAD, "mariadb slurm_acct_db -e 'drop table test_kept'")
    code, output = restore(testbed, "--drill")
    assert code == 1
    assert "1 jobs are missing" in output
    testbed.out(HEAD, "sleep 1; systemctl start gpupool-backup")


def test_a_lost_database_is_restored_and_sacct_shows_the_same_jobs(testbed: Testbed) -> None:
    before = testbed.out(HEAD, EVERY_FIELD)
    accounts = testbed.out(HEAD, "sacctmgr -nP show assoc")
    code, output = restore(testbed, "--yes")
    assert code == 1
    assert "the accounting database has 4 jobs, and nothing was changed" in output.replace("\n", " ")
    lost = "systemctl stop slurmdbd; mariadb -e 'drop database slurm_acct_db; create database slurm_acct_db'"
    testbed.out(HEAD, lost)
    code, output = restore(testbed, "--yes")
    assert code == 0, output
    assert testbed.out(HEAD, EVERY_FIELD) == before
    assert testbed.out(HEAD, "sacctmgr -nP show assoc") == accounts
    assert testbed.job("4")["JobState"] == "RUNNING"
    number = testbed.submit("ann", "-p all -G 1", "true")
    testbed.wait_for(number, "COMPLETED")
    until(lambda: testbed.out(HEAD, f"sacct -nXPj {number} -o State") == "COMPLETED", "slurmdbd hears of new jobs")


def test_a_database_with_jobs_is_kept_under_another_name(testbed: Testbed) -> None:
    testbed.out(HEAD, "systemctl start gpupool-backup")
    newest, before = backups(testbed, "database")
    code, output = restore(testbed, "--yes", "--aside", "--backup", before.rpartition("/")[2])
    assert code == 0, output
    (aside,) = testbed.out(HEAD, "mariadb -N -e \"show databases like 'slurm_acct_db_aside_%'\"").split()

    def count(database: str) -> str:
        return testbed.out(HEAD, f"mariadb -N {database} -e 'select count(*) from small_job_table'")

    assert (count(aside), count("slurm_acct_db")) == ("5", "4"), f"what {before} has, and not {newest}"
    assert testbed.run(HEAD, "mariadb -e 'use gpupool_restore'").returncode != 0
    assert testbed.apply().returncode == 0
    assert verify(testbed) == []


EMPTIED = "rm -rf /var/spool/slurmctld/*"
DROPPED = "mariadb -e 'drop database slurm_acct_db'"
NO_QUEUE = "/var/spool/slurmctld has no queue, and an empty slurmctld would end the jobs"
NO_DATABASE = "/var/spool/slurmctld has the state of the cluster, and the database on ctl does not have it"
#: The lost part, the commands that lose it, and apply's reason.
LOSSES = (
    pytest.param(f"{DROPPED}; {EMPTIED}", NO_QUEUE, id="database and queue"),
    pytest.param(EMPTIED, NO_QUEUE, id="queue", marks=full.only),
    pytest.param(DROPPED, NO_DATABASE, id="database", marks=full.only),
    pytest.param("", NO_QUEUE, id="disk", marks=full.only),
)


@pytest.mark.parametrize(("commands", "reason"), LOSSES)
def test_a_controller_that_lost_parts_of_the_cluster_is_not_started_and_comes_back_by_one_command(
    testbed: Testbed, tmp_path: Path, commands: str, reason: str
) -> None:
    jobs = [testbed.submit("ann", "-p all -c 1 --mem=1G", "sleep 3600") for _ in range(12)]
    for number in jobs:
        testbed.wait_for(number, "RUNNING")
    testbed.out(HEAD, "sleep 10; systemctl start gpupool-backup")
    late = testbed.submit("ann", "-p all -c 1 --mem=1G", "sleep 3600")
    testbed.wait_for(late, "RUNNING")
    if commands:
        testbed.out(HEAD, f"systemctl stop slurmctld slurmdbd; {commands}")
    else:
        lose_the_disk(testbed, tmp_path)
    refused = testbed.apply()
    assert refused.returncode == 1
    assert reason in refused.stdout
    assert "gpupool restore INVENTORY --controller" in refused.stdout
    assert testbed.run(HEAD, "systemctl is-active slurmctld").returncode != 0
    code, output = restore(testbed, "--controller", "--yes")
    assert code == 0, output
    queue_is_lost = reason == NO_QUEUE
    assert (f"running jobs that are not in the backup, and will end: {late}\n" in output) == queue_is_lost
    until(lambda: testbed.run(HEAD, "scontrol ping").returncode == 0, "slurmctld answers")
    until(lambda: "idle" not in testbed.out(HEAD, "sinfo -h -n gpu-1 -o %t"), "the node is registered")
    kept = jobs if queue_is_lost else [*jobs, late]
    assert {testbed.job(number)["JobState"] for number in kept} == {"RUNNING"}
    with_steps = (
        "for p in $(pgrep -x slurmstepd); do tr '\\0' ' ' < /proc/$p/cmdline; echo; done | grep -o '[0-9]*.batch'"
    )
    if queue_is_lost:
        until(lambda: f"{late}.batch" not in testbed.out("gpu-1", with_steps).split(), "the late job has ended")
    assert {f"{number}.batch" for number in kept} <= set(testbed.out("gpu-1", with_steps).split())
    assert testbed.apply().returncode == 0
    assert testbed.plan() == (0, {})
    testbed.out(HEAD, f"scancel {' '.join([*jobs, late])}")


def lose_the_disk(testbed: Testbed, kept: Path) -> None:
    """Replace the controller's machine by a new one; only the backups, which the site keeps elsewhere too, are left."""
    container = testbed.container(HEAD)
    docker("cp", f"{container}:{TO}", str(kept / "slurm"))
    docker("rm", "-f", "-v", container)
    hang_up(container)
    done = gpupool("testbed", "up", testbed.inventory, "--network", NETWORK, "--yes")
    assert done.returncode == 0, done.stderr
    docker("exec", container, "mkdir", "-p", TO)
    docker("cp", f"{kept}/slurm/.", f"{container}:{TO}")
