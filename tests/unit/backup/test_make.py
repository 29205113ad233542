"""Backups of slurmctld's state and of the database, made by the timer's program."""

import json
import os
import stat
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import inventories
import pytest
import stand_ins

from gpupool.cluster.model import Cluster
from gpupool.compile.system import backup as compiled
from gpupool.programs.backup import make
from gpupool.programs.backup.places import Failed

ROOT = Path(__file__).parents[3]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    (folder / "hash.1" / "job.1").mkdir(parents=True)
    texts = {"job_state": "jobs", "job_state.new": "half", "assoc_usage": "used", "hash.1/job.1/script": "#!/bin/sh"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "link").symlink_to("/etc/passwd")
    return folder


@pytest.fixture
def to(tmp_path: Path) -> Path:
    (tmp_path / "to").mkdir()
    return tmp_path / "to"


def test_the_backup_has_jobs_before_scripts_and_no_file_that_is_being_written(state: Path, to: Path) -> None:
    made = make.state(to, state)
    with tarfile.open(made.path) as tar:
        assert tar.getnames() == ["job_state", "assoc_usage", "hash.1/job.1/script"]
    again = to / "again"
    again.mkdir()
    subprocess.run(["tar", "-xzf", made.path, "-C", again], check=True)
    assert (again / "hash.1/job.1/script").read_text() == "#!/bin/sh"


def test_files_that_are_removed_during_the_backup_are_left_out(
    state: Path, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = make._add

    def slowly(tar: tarfile.TarFile, path: Path, name: str) -> None:
        (state / "hash.1/job.1/script").unlink(missing_ok=True)
        add(tar, path, name)

    monkeypatch.setattr(make, "_add", slowly)
    with tarfile.open(make.state(to, state).path) as tar:
        assert tar.getnames() == ["job_state", "assoc_usage"]


def test_without_a_state_no_backup_is_made(tmp_path: Path, to: Path) -> None:
    with pytest.raises(Failed, match="slurmctld has never run"):
        make.state(to, tmp_path / "none")


def test_the_backup_waits_for_a_new_slurmctld_to_save_its_jobs(
    state: Path, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / "clustername").write_text("example")
    (state / "job_state").rename(state / "later")
    seconds = []

    def sleep(second: float) -> None:
        seconds.append(second)
        if len(seconds) == 300:
            (state / "later").rename(state / "job_state")

    monkeypatch.setattr(make.time, "sleep", sleep)
    assert make.state(to, state).is_good()
    assert len(seconds) == 300


def test_a_slurmctld_that_never_saves_its_jobs_has_no_backup(
    state: Path, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state / "clustername").write_text("example")
    (state / "job_state").unlink()
    monkeypatch.setattr(make.time, "sleep", lambda second: None)
    with pytest.raises(Failed, match="does it run"):
        make.state(to, state)
    assert list(to.iterdir()) == []


def programs(folder: Path, dump: str) -> Path:
    """Create fake commands of MariaDB and slurmdbd; the real ones run in tests/testbed."""
    folder.mkdir()
    texts = {"mariadb": "echo 4000", "slurmdbd": "echo slurm 24.11.5", "mariadb-dump": dump}
    for name, text in texts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(stat.S_IRWXU)
    return folder


def backed_up_to(cluster: Cluster, to: Path) -> Cluster:
    """Return the cluster with its backups in a directory of the test, which an inventory does not accept."""
    backup = cluster.slurm.backup
    assert backup
    slurm = cluster.slurm.model_copy(update={"backup": backup.model_copy(update={"to": str(to)})})
    return replace(cluster, slurm=slurm)


def run(tmp_path: Path, to: Path, dump: str) -> subprocess.CompletedProcess[str]:
    keys = "slurm: {backup: {to: /backup, keep: 2}}\nscheduler:"
    cluster = inventories.changed(inventories.SMALL, tmp_path / "inventory", ("scheduler:", keys))
    cluster = backed_up_to(cluster, to)
    settings = tmp_path / "backup.json"
    settings.write_text(json.dumps({**compiled.settings(cluster, cluster.nodes["ctl"]), "kinds": ["database"]}))
    path = f"{programs(tmp_path / 'bin', dump)}:{os.environ['PATH']}"
    environment = {"PATH": path, "PYTHONPATH": f"{ROOT / 'gpupool' / 'programs'}:{ROOT}"}
    command = [sys.executable, "-P", "-B", "-m", "backup", "make", str(settings)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_complete_dump_is_kept(tmp_path: Path, to: Path) -> None:
    done = run(tmp_path, to, "echo 'create table'; echo '-- Dump completed on 2026-11-23'")
    assert done.returncode == 0, done.stderr
    (made,) = to.glob("*.gz")
    text = subprocess.run(["zcat", made], capture_output=True, text=True, check=True).stdout.splitlines()
    assert text[0].startswith("-- gpupool: cluster small, slurm 24.11.5, ")
    assert text[1:] == ["create table", "-- Dump completed on 2026-11-23"]


@pytest.mark.parametrize(
    ("dump", "why"),
    [
        ("echo 'create table'", "its output ends too early"),
        ('echo "Got error: 2002: Can\'t connect" >&2; exit 2', "Got error: 2002: Can't connect"),
        ("echo '-- Dump completed on 2026-11-23'; exit 3", "its output ends too early"),
    ],
)
def test_a_failed_dump_is_reported_and_makes_no_backup(tmp_path: Path, to: Path, dump: str, why: str) -> None:
    done = run(tmp_path, to, dump)
    assert done.returncode == 1
    assert f"database: no backup: mariadb-dump: {why}" in done.stderr
    assert list(to.iterdir()) == []


def test_a_failure_names_the_program_and_not_its_query(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins.put({"mariadb": "echo 'ERROR 2002: no server' >&2; exit 1"}, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(Failed, match=r"^mariadb: ERROR 2002: no server$"):
        make._output_of(["mariadb", "-N", "-e", "select 1"])
    with pytest.raises(Failed, match=r"^not-there: not installed$"):
        make._output_of(["not-there", "-V"])
