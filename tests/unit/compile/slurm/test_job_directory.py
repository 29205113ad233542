"""Private directories of jobs: the prolog creates, the task prolog names, and the epilog removes them; run for real."""

import os
import subprocess
from pathlib import Path

import pytest
from inventories import SMALL, changed
from opened import open_to_all

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm import jobs
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.system.health import settings

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several users")
ANN, GROUP = 20001, 5001


def inventory(folder: Path, keys: str) -> Cluster:
    return changed(
        SMALL, folder, ("qos:", f"environment: {{job_directory: {{{keys}}}}}\nslurm: {{health: {{}}}}\nqos:")
    )


class Node:
    """A node with such directories, and a fake slurmd that runs the prolog and epilog."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.top, self.log = folder, folder / "top", folder / "log"
        self.top.mkdir()
        self.top.chmod(0o711)
        self.proc = folder / "proc"
        (folder / "bin").mkdir()
        logger = folder / "bin" / "logger"
        logger.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {self.log}\n')
        # in the foreground, so that a test sees the result
        setsid = folder / "bin" / "setsid"
        setsid.write_text('#!/bin/sh\nshift; exec "$@"\n')
        for path in (logger, setsid):
            path.chmod(0o755)
        (self.proc / "1").mkdir(parents=True)
        (self.proc / "1" / "cmdline").write_text("init")
        cluster = inventory(folder / "inventory", "path: /local/own, min_free: 0M")
        self.texts = {
            file.path: file.text.replace("/local/own", str(self.top))
            for file in files_of(cluster, cluster.nodes["gpu-1"], "jobs")
        }

    def run(self, program: str, job: int, uid: int = ANN, user: bool = False) -> str:
        text = self.texts[program].replace("PATH=/usr", f"PATH={self.folder}/bin:/usr")
        text = text.replace("jobs=/run/gpupool/jobs", f"jobs={self.folder}/run/jobs").replace(
            " /proc/", f" {self.proc}/"
        )
        path = self.folder / "program"
        path.write_text(text)
        env = {"SLURM_JOB_UID": str(uid), "SLURM_JOB_ID": str(job), "SLURM_JOB_GID": str(GROUP)}
        who = {"user": uid, "group": GROUP, "extra_groups": []} if user else {}
        done = subprocess.run(["/bin/sh", str(path)], capture_output=True, text=True, env=env, check=False, **who)
        assert done.returncode == 0
        return done.stdout + done.stderr

    def boots(self) -> None:
        subprocess.run(["rm", "-rf", str(self.folder / "run")], check=True)

    def lives(self, job: int) -> None:
        (self.proc / "12").mkdir(exist_ok=True)
        (self.proc / "12" / "cmdline").write_text(f"slurmstepd: [{job}.extern]\0")
        (self.proc / "12" / "status").write_text("Uid:\t0\t0\t0\t0\n")

    def logged(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(open_to_all(tmp_path))


@needs_root
def test_a_job_has_its_own_directory_until_it_ends(node: Node) -> None:
    node.run(jobs.PROLOG, 7)
    mine = node.top / "7"
    status = mine.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (ANN, GROUP, 0o700)
    assert node.run(jobs.TASK_PROLOG, 7, user=True) == f"export JOBSCRATCH={mine}\n"
    (mine / "a").mkdir()
    (mine / "a" / "b").write_text("x")
    os.chown(mine / "a" / "b", 20002, 20002)
    node.run(jobs.EPILOG, 7)
    assert list(node.top.iterdir()) == []
    assert node.logged() == ""


@needs_root
def test_no_link_is_followed(node: Node, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "kept").mkdir(parents=True)
    node.run(jobs.PROLOG, 7)
    (node.top / "7" / "out").symlink_to(outside)
    (node.top / "7" / "up").symlink_to("../..")
    node.run(jobs.EPILOG, 7)
    assert list(node.top.iterdir()) == []
    assert (outside / "kept").is_dir()


@needs_root
@pytest.mark.parametrize("wrong", ["link", "mode", "owner", "missing"])
def test_below_a_directory_that_root_does_not_own_no_directory_is_created(
    node: Node, tmp_path: Path, wrong: str
) -> None:
    if wrong == "mode":
        node.top.chmod(0o777)
    elif wrong == "owner":
        os.chown(node.top, ANN, GROUP)
    else:
        node.top.rmdir()
        if wrong == "link":
            (tmp_path / "victim").mkdir(mode=0o711)
            node.top.symlink_to(tmp_path / "victim")
    node.run(jobs.PROLOG, 7)
    assert "job 7 has no job directory" in node.logged()
    assert not (node.top / "7").exists()
    assert "unset JOBSCRATCH\n" in node.run(jobs.TASK_PROLOG, 7, user=True)
    node.run(jobs.EPILOG, 7)


@needs_root
def test_a_full_disk_means_no_directory_and_no_drained_node(node: Node) -> None:
    node.texts[jobs.PROLOG] = node.texts[jobs.PROLOG].replace("-ge 0 ]", "-ge 999999999 ]")
    node.run(jobs.PROLOG, 7)
    assert "MiB free, less than" in node.logged()
    assert list(node.top.iterdir()) == []
    output = node.run(jobs.TASK_PROLOG, 7, user=True)
    assert "no directory for the job, so JOBSCRATCH is not set" in output


@needs_root
def test_directories_of_jobs_before_a_boot_are_removed_and_those_of_running_jobs_kept(node: Node) -> None:
    node.run(jobs.PROLOG, 7)
    node.run(jobs.PROLOG, 8)
    assert {path.name for path in node.top.iterdir()} == {"7", "8"}
    node.boots()
    node.run(jobs.PROLOG, 9)
    assert "9" in {path.name for path in node.top.iterdir()}
    assert not {"7", "8"} & {path.name for path in node.top.iterdir()}
    node.run(jobs.PROLOG, 10)
    node.run(jobs.EPILOG, 9)
    assert {path.name for path in node.top.iterdir()} == {"10"}


@needs_root
def test_a_directory_without_an_epilog_is_removed_by_the_next_but_none_of_a_running_job(node: Node) -> None:
    for job in (7, 8, 9):
        node.run(jobs.PROLOG, job)
    node.lives(8)
    # as if ten minutes had passed
    node.texts[jobs.EPILOG] = node.texts[jobs.EPILOG].replace("-cmin +10", "-cmin -10")
    node.run(jobs.EPILOG, 9)
    assert {path.name for path in node.top.iterdir()} == {"8"}


@needs_root
def test_a_prolog_that_runs_twice_keeps_the_files(node: Node) -> None:
    node.run(jobs.PROLOG, 7)
    (node.top / "7" / "x").write_text("x")
    node.run(jobs.PROLOG, 7)
    assert (node.top / "7" / "x").exists()


def test_slurm_conf_names_the_programs_and_the_health_check_tests_the_disk(tmp_path: Path) -> None:
    cluster = inventory(tmp_path, "path: /local/own, env: SCRATCHDIR, min_free: 2G")
    text = slurm_conf(cluster)
    for key, program in (("Prolog", jobs.PROLOG), ("Epilog", jobs.EPILOG), ("TaskProlog", jobs.TASK_PROLOG)):
        assert f"{key}={program}\n" in text
    gpu = cluster.nodes["gpu-1"]
    assert [(directory.path, directory.owner, directory.mode) for directory in jobs.directories(cluster, gpu)] == [
        ("/local/own", "root", "0711")
    ]
    assert jobs.directories(cluster, cluster.controllers[0]) == []
    assert "/local/own" in settings(cluster, gpu)["disk"]["paths"]
    programs = {file.path: file.text for file in files_of(cluster, gpu, "jobs")}
    assert "-ge 2048 ]" in programs[jobs.PROLOG]
    assert "export SCRATCHDIR=/local/own/" in programs[jobs.TASK_PROLOG]
    for text in programs.values():
        done = subprocess.run(["shellcheck", "-s", "sh", "-"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
