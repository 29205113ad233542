"""Jobs of a release that the new one does not read end before anything changes, and are named with user and end."""

import gzip
import subprocess
from pathlib import Path

import pytest
from upgrading import Run

from gpupool.cli import upgrade as cli
from gpupool.shell import shell_file
from gpupool.upgrade.prepare import older_jobs
from gpupool.upgrade.rollback import Rollback

DAY = 86400


@pytest.fixture
def hop(run: Run) -> Run:
    """An upgrade to 26.05, whose nodes had 23.11 until now; 26.05 reads 24.11 and later."""
    now = int(run.fake.clock.time())
    run.slurm.run_job("gpu-1")
    run.fake.replaced["gpu-1"] = f"{now - DAY} 23.02.7-1\n{now} 1:23.11.4-1.2\n"
    run.fake.clock.sleep(10)
    run.slurm.run_job("gpu-1", user="bob")
    return run


def test_they_are_named_with_user_and_end_before_anything_changes(hop: Run) -> None:
    (job,) = hop.prepare().older["gpu-1"]
    assert (job.id, job.user, job.ends) == ("1", "ann", "2026-11-26T14:58:34")
    assert hop.steps() == []


def test_the_upgrade_begins_when_they_have_ended_and_later_jobs_live(hop: Run) -> None:
    looks = 0

    def slept() -> None:
        nonlocal looks
        looks += 1
        assert hop.steps() == [], "nothing changes before"
        if looks == 3:
            hop.slurm.jobs = [job for job in hop.slurm.jobs if job.id != "1"]
            hop.fake.clock.slept = hop.slurm.tick

    hop.fake.clock.slept = slept
    hop()
    assert looks == 3
    assert [job.id for job in hop.slurm.jobs] == ["2"]
    assert hop.steps()[0][0] == "fetch"
    assert (
        "gpu-1",
        "waiting for 1 job (1 of ann until 2026-11-26 14:58) of an older release",
    ) in hop.notes.steps


@pytest.mark.parametrize("replaced", ["", "{now} 24.11.5-4\n", "{early} 23.11.4-1\n", "cut off\n7\n"])
def test_other_jobs_are_not_asked_for_or_not_waited_for(run: Run, replaced: str) -> None:
    run.slurm.run_job("gpu-1")
    now = int(run.fake.clock.time())
    run.fake.replaced["gpu-1"] = replaced.format(now=now, early=now - DAY)
    assert run.prepare().older == {}


def test_a_node_that_does_not_answer_has_none(hop: Run) -> None:
    cluster = hop.fake.target.cluster
    hop.fake.silent.add("gpu-1")
    assert older_jobs(hop.fake, cluster, ["gpu-1"], Rollback(hop.fake, hop.runner)).now() == {}


def test_an_upgrade_without_work_asks_no_node(hop: Run) -> None:
    hop.runner.changes.clear()
    assert hop.prepare().older == {}
    assert hop.fake.did("older_jobs") == []


def test_the_log_of_dpkg_has_the_replaced_versions(tmp_path: Path) -> None:
    log = tmp_path / "dpkg.log"
    log.write_text(
        "2026-01-02 03:04:05 startup archives unpack\n"
        "2026-01-02 03:04:05 upgrade slurmd:amd64 23.11.4-1 24.11.5-4\n"
        "2026-01-02 03:04:06 status installed slurmd:amd64 24.11.5-4\n"
        "2026-01-02 03:04:07 upgrade slurmdbd:amd64 23.11.4-1 24.11.5-4\n"
        "2026-01-03 00:00:00 remove slurm-smd-slurmd:amd64 24.11.5-4 <none>\n"
    )
    (tmp_path / "dpkg.log.1").write_text("2025-06-01 00:00:00 upgrade slurmd:amd64 22.05.8-4 23.11.4-1\n")
    with gzip.open(tmp_path / "dpkg.log.2.gz", "wt") as old:
        old.write("2025-01-01 00:00:00 upgrade slurmd 21.08.1 22.05.8-4\n")
    script = shell_file("gpupool.upgrade", "older_jobs.sh")
    command = ["sh", "-c", script, "older_jobs", str(log)]
    done = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin", "TZ": "UTC"}, capture_output=True, text=True, check=True
    )
    assert sorted(done.stdout.splitlines()) == [
        "1735689600 21.08.1",
        "1748736000 22.05.8-4",
        "1767323045 23.11.4-1",
        "1767398400 24.11.5-4",
    ]
    gone = [*command[:-1], str(tmp_path / "none")]
    assert subprocess.run(gone, capture_output=True, text=True, check=True).stdout == ""


def test_the_plan_names_them_and_the_way_to_wait_no_longer(hop: Run, capsys: pytest.CaptureFixture[str]) -> None:
    cli._show(hop.fake.target.cluster, hop.prepare(), 4)
    shown = capsys.readouterr().err
    assert "first it waits for jobs of an older release, whose steps Slurm 26.05 does not read:" in shown
    assert "  gpu-1: 1 job (1 of ann until 2026-11-26 14:58)" in shown
    assert "scontrol requeue JOB" in shown
