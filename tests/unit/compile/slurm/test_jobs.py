"""Prolog, task prolog and epilog, run for real: variables of tasks, and the clean-up after a user's last job."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from inventories import INVENTORY, STORED, changed, cluster_at
from pace import until

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm import jobs
from gpupool.compile.slurm.conf import files as slurm_files
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.template import fill


def programs(cluster: Cluster, node: str) -> dict[str, str]:
    return {file.path: file.text for file in files_of(cluster, cluster.nodes[node], "jobs")}


def shell(folder: Path, text: str) -> Path:
    path = folder / "program"
    path.write_text(text)
    path.chmod(0o755)
    return path


# variables


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function that runs a task prolog like slurmstepd: from a process with the title of a step."""
    proc = tmp_path / "gpus"
    for minor in range(3):
        (proc / f"0000:0{minor}:00.0").mkdir(parents=True)
        (proc / f"0000:0{minor}:00.0" / "information").write_text(
            f"Model: \t\t NVIDIA A40\nIRQ:   \t\t 90\nGPU UUID: \t GPU-0000000{2 - minor}-aaaa-bbbb-cccc-dddddddddddd\n"
            f"Video BIOS: \t 94.02\nDevice Minor: \t {2 - minor}\nGPU Excluded:\t No\n"
        )
    # not yet initialised, and not in the driver's format
    for minor, name in ((4, "GPU-????????-????-????-????-????????????"), (5, "00000005-aaaa-bbbb-cccc-dddddddddddd")):
        (proc / f"0000:0{minor}:00.0").mkdir()
        (proc / f"0000:0{minor}:00.0" / "information").write_text(f"GPU UUID: \t {name}\nDevice Minor: \t {minor}\n")

    def run(text: str, title: str = "slurmstepd: [7.0]", **environment: str) -> list[str]:
        program = shell(tmp_path, text.replace("/proc/driver/nvidia/gpus", str(proc)))
        # only the parent process of the program has this title
        script = f"exec -a '{title}' {sys.executable} -c 'import subprocess; subprocess.run([\"{program}\"])'"
        env = {"SLURM_JOB_ID": "7", **environment}
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=env)
        assert (done.returncode, done.stderr) == (0, ""), "slurmstepd discards error output"
        return done.stdout.splitlines()

    return run


@pytest.mark.promise("SKY-173")
def test_a_job_has_the_uuids_of_its_gpus(skynet: Cluster, task: Callable[..., list[str]]) -> None:
    text = programs(skynet, "clippy")[jobs.TASK_PROLOG]
    own = {"CUDA_VISIBLE_DEVICES": "0,1"}
    uuids = "GPU-00000001-aaaa-bbbb-cccc-dddddddddddd,GPU-00000002-aaaa-bbbb-cccc-dddddddddddd"
    step = task(text, SLURM_STEP_GPUS="1,2", SLURM_JOB_GPUS="0,1,2", **own)
    batch = task(text, "slurmstepd: [7.batch]", SLURM_STEP_GPUS="0", SLURM_JOB_GPUS="1,2", **own)
    assert step == batch == [f"export NV_GPU={uuids}"], "what another job has left counts for nothing"


def test_a_task_without_gpus_has_no_uuids(skynet: Cluster, task: Callable[..., list[str]]) -> None:
    text = programs(skynet, "clippy")[jobs.TASK_PROLOG]
    assert task(text) == ["unset NV_GPU"]
    assert task(text, SLURM_JOB_GPUS="0", NV_GPU="GPU-0") == ["unset NV_GPU"], "a step of a job that has some"
    unknown = task(text, SLURM_STEP_GPUS="0,3", CUDA_VISIBLE_DEVICES="0,1")
    message = "print gpupool: the driver does not show GPU {}, so NV_GPU is not set"
    expected = [message.format("0,3"), "unset NV_GPU"]
    assert unknown == expected, "the driver does not know the last one, and docker must not get another"
    for minor in ("4", "5"):
        assert task(text, SLURM_STEP_GPUS=minor, CUDA_VISIBLE_DEVICES="0") == [message.format(minor), "unset NV_GPU"]


def test_without_a_driver_gpus_have_numbers(tmp_path: Path, task: Callable[..., list[str]]) -> None:
    fake = changed(INVENTORY / "skynet", tmp_path / "fake", ("driver: nvidia\n", "driver: fake\n"))
    text = programs(fake, "clippy")[jobs.TASK_PROLOG]
    assert task(text, SLURM_STEP_GPUS="1,2", CUDA_VISIBLE_DEVICES="0,1") == ["export NV_GPU=1,2"]
    assert task(text, SLURM_STEP_GPUS="1;id", CUDA_VISIBLE_DEVICES="0,1") == ["unset NV_GPU"]


def test_variables_of_the_inventory_are_set_once_per_job(tmp_path: Path, task: Callable[..., list[str]]) -> None:
    new = 'environment: {job: {SCRATCH: "/s/{account}/{user}", ODD: "it\'s $HOME `id` \\\\n"}}\nscheduler:'
    text = programs(changed(STORED, tmp_path / "odd", ("scheduler:", new)), "gpu-1")[jobs.TASK_PROLOG]
    me = subprocess.run(["id", "-gn"], capture_output=True, text=True, check=True).stdout.strip()
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    assert task(text) == [f"export SCRATCH=/s/{me}/{user}", "export ODD=it's $HOME `id` \\n", "export GPUPOOL_JOB=7"]
    assert task(text, GPUPOOL_JOB="7", SCRATCH="/mine") == [], "the script of the job has changed it"
    assert task(text, GPUPOOL_JOB="6", SCRATCH="/mine")[0].startswith("export SCRATCH=/s/"), "submitted from a job"


@pytest.mark.promise("SDU-013")
def test_jobs_know_the_directory_of_a_users_space() -> None:
    cluster = cluster_at(INVENTORY / "santos-dumont")
    text = programs(cluster, cluster.having("compute")[0].name)[jobs.TASK_PROLOG]
    assert '"export SCRATCH="/scratch/"$gpupool_account"/"$gpupool_user"' in text
    assert '"export PYTHONUSERBASE="/scratch/"$gpupool_account"/"$gpupool_user"/.local' in text


# slurm.conf


def test_slurm_conf_names_only_programs_that_exist(tmp_path: Path, skynet: Cluster, stored: Cluster) -> None:
    always = {"UnkillableStepTimeout", "UnkillableStepProgram"}
    assert set(jobs.parameters(stored)) == always
    for text in (text for path, text in programs(stored, "gpu-1").items() if path != jobs.UNKILLABLE):
        lines = [line for line in text.splitlines() if line and not line.startswith(("#", "PATH="))]
        assert lines == ["exit 0"], "slurmd may not have read yet that it is named no longer"
    wanted = jobs.parameters(skynet)
    assert set(wanted) == {"Prolog", "Epilog", "TaskProlog", *always}
    assert all(f"{key}={value}\n" in slurm_conf(skynet) for key, value in wanted.items())
    for path in (value for key, value in wanted.items() if key != "UnkillableStepTimeout"):
        for node in skynet.having("compute"):
            assert path in programs(skynet, node.name), "slurmd drains a node whose prolog is missing"
    assert programs(skynet, "sky1") == {}


def test_a_job_on_an_unnamed_node_removes_no_file(tmp_path: Path) -> None:
    new = "timers: [{job: shm-clean, when: job-end, where: gpu-1}]\nscheduler:"
    one = changed(STORED, tmp_path, ("scheduler:", new))
    assert "find" in programs(one, "gpu-1")[jobs.EPILOG]
    assert jobs.LOGIND in programs(one, "gpu-1")
    idle = programs(one, "gpu-2")
    assert "find" not in idle[jobs.EPILOG], "slurm.conf is the same for all nodes"
    assert jobs.LOGIND not in idle


@pytest.mark.parametrize(
    ("version", "line"),
    [("24.11", "JobContainerType=job_container/tmpfs"), ("26.05", "NamespaceType=namespace/tmpfs")],
)
def test_each_job_has_a_private_tmp(tmp_path: Path, version: str, line: str) -> None:
    new = f'environment: {{private_tmp: /local/jobs}}\nslurm: {{version: "{version}"}}\nscheduler:'
    cluster = changed(STORED, tmp_path, ("scheduler:", new))
    assert f"{line}\n" in slurm_conf(cluster)
    files = {file.path: file.text for file in slurm_files(cluster, cluster.controllers[0])}
    last = files[cluster.slurm.file(jobs.TMP_CONF)].splitlines()[-2:]
    assert last == ["AutoBasePath=true", "BasePath=/local/jobs Dirs=/tmp,/dev/shm Shared=true"]


# clean-up when a job ends

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several users")
ONE, TWO = 20001, 20002


class Node:
    """A node's /dev/shm, and a fake slurmd, which runs prolog and epilog."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        self.shm, self.jobs, self.log = folder / "shm", folder / "jobs", folder / "log"
        self.shm.mkdir()
        self.shm.chmod(0o1777)
        self.folder = folder
        logger = shell(folder, f'#!/bin/sh\nshift 3; printf "%s\\n" "$*" >> {self.log}\n').rename(folder / "logger")
        # in the foreground, so that a test sees the result
        shell(folder, '#!/bin/sh\nshift; exec "$@"\n').rename(folder / "setsid")
        values = {"cluster": cluster, "clean": True, "jobs": str(self.jobs), "own": None}
        self.texts = {
            "prolog": fill("prolog", **values),
            "epilog": fill("epilog", **values, tops=[str(self.shm)], patience=60),
        }
        for old, new in (("PATH=", f"PATH={logger.parent}:"), (" /proc/", f" {folder}/proc/")):
            self.texts = {name: text.replace(old, new) for name, text in self.texts.items()}

    def run(self, name: str, uid: int, job: int) -> None:
        program = shell(self.folder, self.texts[name])
        env = {"SLURM_JOB_UID": str(uid), "SLURM_JOB_ID": str(job)}
        done = subprocess.run([str(program)], capture_output=True, text=True, env=env, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def step(self, title: str, uid: int = 0) -> None:
        """Start a process with this title in ps, and show only that: testbeds beside the tests have steps, too."""
        cmdline = self.folder / "proc" / "12" / "cmdline"
        cmdline.parent.mkdir(parents=True, exist_ok=True)
        cmdline.write_text(f"{title}\0")
        # the files of a process that makes itself unreadable belong to root, so their owner says nothing
        cmdline.with_name("status").write_text(f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")

    def file(self, name: str, uid: int) -> Path:
        path = self.shm / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("x")
        os.chown(path, uid, uid)
        return path

    def names(self) -> set[str]:
        return {str(path.relative_to(self.shm)) for path in self.shm.rglob("*")}


@pytest.fixture
def node(tmp_path: Path, skynet: Cluster) -> Node:
    return Node(tmp_path, skynet)


@needs_root
@pytest.mark.promise("SKY-165")
def test_files_of_a_user_are_removed_with_the_last_job(node: Node) -> None:
    for uid, job in ((ONE, 1), (ONE, 2), (TWO, 3)):
        node.run("prolog", uid, job)
    for uid in (ONE, TWO):
        node.file(f"torch_{uid}", uid)
        os.chown(node.file(f"of-{uid}/deep/x", uid).parent, uid, uid)
        os.chown(node.shm / f"of-{uid}", uid, uid)
    node.file("of-root", 0)
    before = node.names()
    node.run("epilog", ONE, 1)
    assert node.names() == before, "the user has another job here"
    node.run("epilog", ONE, 2)
    assert node.names() == {"torch_20002", "of-20002", "of-20002/deep", "of-20002/deep/x", "of-root"}
    assert "job 2: user 20001 has no other job here; removed 4 files:" in node.log.read_text()
    node.run("epilog", TWO, 3)
    assert node.names() == {"of-root"}
    assert list(node.jobs.iterdir()) == []


@needs_root
def test_no_link_is_followed_and_no_file_of_others_is_removed(node: Node, tmp_path: Path) -> None:
    node.run("prolog", ONE, 1)
    outside = tmp_path / "home"
    outside.mkdir()
    (outside / "thesis").write_text("x")
    os.chown(outside / "thesis", ONE, ONE)
    for name in ("link", "-delete", "new\nline", "; rm -rf", "*"):
        (node.shm / name).symlink_to(outside)
        os.chown(node.shm / name, ONE, ONE, follow_symlinks=False)
    # in a user's directory, files of another user stay; in another user's directory, the user's files are removed
    os.chown(node.file("mine/theirs", TWO).parent, ONE, ONE)
    os.chown(node.file("theirs/mine", ONE).parent, TWO, TWO)
    (node.shm / "hard").hardlink_to(outside / "thesis")
    node.run("epilog", ONE, 1)
    assert node.names() == {"mine", "mine/theirs", "theirs"}
    assert (outside / "thesis").read_text() == "x"
    assert len(node.log.read_text().splitlines()) == 1, "no file name adds a line to the log"


@needs_root
def test_an_unrecorded_job_keeps_all_files(node: Node) -> None:
    """The job began before the prolog was on the node, so its user is unknown."""
    node.run("prolog", ONE, 1)
    node.file("x", ONE)
    node.step("slurmstepd: [99.extern]")
    node.run("epilog", ONE, 1)
    assert node.names() == {"x"}
    assert "nothing is removed: job 99 is not recorded" in node.log.read_text()
    node.run("prolog", TWO, 99)
    node.run("epilog", ONE, 1)
    assert node.names() == set()


@needs_root
def test_a_user_cannot_fake_a_job(node: Node) -> None:
    node.run("prolog", ONE, 1)
    node.file("x", ONE)
    node.step("slurmstepd: [99.extern]", TWO)
    node.run("epilog", ONE, 1)
    assert node.names() == set()


@needs_root
def test_the_command_line_of_a_users_process_is_not_read(node: Node) -> None:
    """Its memory may be a file of a FUSE server that does not answer: then the reader waits, and so does Slurm."""
    node.run("prolog", ONE, 1)
    node.file("x", ONE)
    node.step("sleep", uid=ONE)
    command = node.folder / "proc" / "12" / "cmdline"
    command.unlink()
    os.mkfifo(command)  # without a writer: its reader waits
    node.run("epilog", ONE, 1)
    assert node.names() == set()


@needs_root
def test_a_record_whose_epilog_never_ran_is_removed(node: Node) -> None:
    for job in (1, 2, 3):
        node.run("prolog", ONE, job)
    for job in (2, 3):
        os.utime(node.jobs / str(ONE) / str(job), (0, 0))
    node.file("x", ONE)
    node.step("slurmstepd: [3.extern]")
    node.run("epilog", ONE, 1)
    assert node.names() == {"x"}
    assert [path.name for path in (node.jobs / str(ONE)).iterdir()] == ["3"]
    node.run("epilog", ONE, 3)
    assert node.names() == set()


@needs_root
def test_files_of_a_job_that_starts_meanwhile_are_kept(node: Node) -> None:
    """The race just before the search: a job starts, and its prolog reaches the directory that was removed."""
    node.run("prolog", ONE, 1)
    node.file("old", ONE)
    job = node.jobs / str(ONE)
    new = f"mkdir {job} && : > {job}/2 && echo x > {node.shm}/new && chown {ONE} {node.shm}/new\nremoved=$("
    node.texts["epilog"] = node.texts["epilog"].replace("removed=$(", new)
    node.run("epilog", ONE, 1)
    assert node.names() == {"new"}


@needs_root
def test_the_epilog_ends_before_the_files_are_removed(node: Node) -> None:
    """Until the epilog has ended, the node starts no job; slurmd then kills its process group."""
    (node.folder / "setsid").unlink()
    gate = node.folder / "gate"
    os.mkfifo(gate)
    node.run("prolog", ONE, 1)
    node.file("x", ONE)
    node.texts["epilog"] = node.texts["epilog"].replace("removed=$(", f"read -r _ < {gate}\nremoved=$(")
    program = shell(node.folder, node.texts["epilog"])
    env = {"SLURM_JOB_UID": str(ONE), "SLURM_JOB_ID": "1"}
    slurmd = ["sh", "-c", f"{program}; kill -KILL 0"]
    done = subprocess.run(slurmd, env={**env, "PATH": os.environ["PATH"]}, check=False, start_new_session=True)
    assert done.returncode == -signal.SIGKILL
    assert node.names() == {"x"}
    # opens it for reading, too: it does not wait for a removal that was never started
    os.write(os.open(gate, os.O_RDWR), b"\n")
    until(lambda: node.names() == set(), "the files are removed")
    until(lambda: list(node.jobs.iterdir()) == [], "nothing of the epilog is left")


@needs_root
def test_prolog_and_epilog_succeed_with_any_environment(node: Node) -> None:
    for name in ("prolog", "epilog"):
        program = shell(node.folder, node.texts[name])
        for env in ({}, {"SLURM_JOB_UID": "../..", "SLURM_JOB_ID": "1"}, {"SLURM_JOB_UID": "20001"}):
            assert subprocess.run([str(program)], env=env, check=False).returncode == 0
    node.file("of-root", 0)
    node.run("prolog", 0, 5)
    node.run("epilog", 0, 5)
    assert node.names() == {"of-root"}, "nothing of the system's own users goes"
