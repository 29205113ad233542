"""The program that slurmstepd runs before it drains a node for an unkillable step, run for real."""

import subprocess
from pathlib import Path

import pytest

from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm import jobs

V1 = "6:freezer:/slurm_clippy/uid_2/job_{job}\n4:memory:/slurm_clippy/uid_2/job_{job}/{step}\n0::/slurmd.service\n"
V2 = "0::/system.slice/slurmstepd.scope/job_{job}/{step}/user/task_special\n"
KILLED = -9


class Step:
    """A slurmstepd that could not end its step, on a node with other processes."""

    def __init__(self, folder: Path, program: str) -> None:
        self.proc, self.log, self.program = folder / "proc", folder / "log", folder / "program"
        self.proc.mkdir()
        logger = folder / "logger"
        logger.write_text(f'#!/bin/sh\nshift 3; printf "%s\\n" "$*" >> {self.log}\n')
        text = program.replace("PATH=", f"PATH={folder}:").replace("/proc/[0-9]*", f"{self.proc}/[0-9]*")
        self.program.write_text(text)
        for path in (logger, self.program):
            path.chmod(0o755)

    def process(self, pid: int, groups: str, *, state: str = "D (disk sleep)") -> None:
        """Add a process in these control groups."""
        (self.proc / str(pid)).mkdir()
        (self.proc / str(pid) / "cgroup").write_text(groups)
        (self.proc / str(pid) / "status").write_text(f"Name:\tpython\nState:\t{state}\nPid:\t{pid}\nPPid:\t1\n")

    def given_up(self, title: str = "slurmstepd: [7.extern]", job: str = "7") -> int:
        """Return how the slurmstepd that runs the program ends: killed, or on its own."""
        script = f"exec -a '{title}' perl -e 'system(\"{self.program}\"); exit 5'"
        return subprocess.run(["bash", "-c", script], check=False, env={"SLURM_JOB_ID": job}).returncode

    def printed(self) -> str:
        return self.log.read_text() if self.log.exists() else ""


@pytest.fixture
def step(tmp_path: Path, skynet: Cluster) -> Step:
    files = {file.path: file.text for file in files_of(skynet, skynet.nodes["clippy"], "jobs")}
    return Step(tmp_path, files[jobs.UNKILLABLE])


def test_an_extern_step_without_processes_does_not_drain_its_node(step: Step) -> None:
    step.process(30, V2.format(job=70, step="step_0"))
    step.process(31, V1.format(job=17, step="step_0"))
    step.process(32, V2.format(job=7, step="step_0"), state="Z (zombie)")
    assert step.given_up() == KILLED
    assert step.printed() == "job 7: no process is left; its extern step hangs and is killed\n"


@pytest.mark.parametrize("groups", [V1, V2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", ["step_extern", "step_batch", "step_0"])
def test_a_process_that_sigkill_did_not_end_drains_its_node(step: Step, groups: str, name: str) -> None:
    step.process(30, groups.format(job=7, step=name))
    assert step.given_up() == 5
    assert step.printed() == "job 7: SIGKILL did not end these processes: 30\n"


@pytest.mark.parametrize(
    ("title", "job"),
    [
        ("slurmstepd: [7.batch]", "7"),
        ("slurmstepd: [7.0]", "7"),
        ("slurmstepd: [8.extern]", "7"),
        ("slurmstepd: [7.extern]", "7.*"),
        ("python", "7"),
    ],
)
def test_other_steps_are_left_to_slurm(step: Step, title: str, job: str) -> None:
    assert step.given_up(title, job) == 5
    assert step.printed() == ""


def test_the_processes_of_the_program_itself_do_not_count(step: Step) -> None:
    """Its child processes are in the control groups of the job, too: grep finds itself."""
    step.process(30, V2.format(job=7, step="step_extern"))
    status = step.proc / "30" / "status"
    text = step.program.read_text()
    step.program.write_text(text.replace("left=\n", f'left=\nsed -i "s/^PPid:.*/PPid:\\t$$/" {status}\n'))
    assert step.given_up() == KILLED
