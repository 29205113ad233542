"""The program on a node, with real processes of root that wait for the other end of a FIFO."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pace import until

from gpupool.node import processes
from gpupool.programs.steps import opening
from gpupool.programs.steps.__main__ import Watch
from gpupool.programs.steps.opening import Step

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

TITLE = "slurmstepd: [{job}.batch]"
USER = 20001
#: Opens a FIFO as slurmstepd does, with the effective uid of a user; with `child`, it has a child process; with
#: `thread`, another thread than the first opens it.
OPEN = """
import ctypes, os, subprocess, sys, threading
path, *how = sys.argv[1:]
if "child" in how:
    subprocess.Popen(["/bin/sleep", "600"])
if "user" in how:
    os.setuid(20001)
else:
    os.seteuid(20001)
def wait():
    os.open(path, os.O_WRONLY if "reads" not in how else os.O_RDONLY)
if "thread" in how:
    thread = threading.Thread(target=wait)
    thread.start()
    thread.join()
elif "sleeps" in how:
    threading.Event().wait()
else:
    wait()
"""


class Node:
    """Processes of this machine, and a squeue with a file of answers, one for each job."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = folder / "asked"
        self.started: list[subprocess.Popen[bytes]] = []
        folder.chmod(0o755)
        squeue = folder / "squeue"
        squeue.write_text(
            f'#!/bin/sh\nfor word; do job=${{word#--jobs=}}; done\necho "$job" >>{self.asked}\n'
            f'cat "{folder}/job.$job" || exit 1\n'
        )
        squeue.chmod(0o755)

    def step(self, job: str, *how: str, title: str = TITLE) -> subprocess.Popen[bytes]:
        """Start a process with the title of a job's slurmstepd that opens a FIFO."""
        fifo = self.folder / f"fifo.{job}"
        if not fifo.exists():
            os.mkfifo(fifo, 0o666)
            fifo.chmod(0o666)
        script = 'title=$1; shift; exec -a "$title" /usr/bin/python3 -c "$@"'
        words = ["bash", "-c", script, "bash", title.format(job=job), OPEN, str(fifo), *how]
        process = subprocess.Popen(words, start_new_session=True)
        self.started.append(process)
        return process

    def state(self, job: str, *states: str) -> None:
        """Let squeue print the job in these states."""
        (self.folder / f"job.{job}").write_text("".join(f"{state}\n" for state in states))

    def waiting(self) -> list[Step]:
        """Return the steps that wait, of this test only: other tests may run at the same time."""
        pids = {process.pid for process in self.started}
        return [step for step in opening.steps() if step.process.pid in pids]

    def wait_for(self, process: subprocess.Popen[bytes]) -> Step:

        def found() -> Step | None:
            assert process.poll() is None
            return next((step for step in self.waiting() if step.process.pid == process.pid), None)

        step: Step = until(found, "the process waits")
        return step

    def questions(self) -> list[str]:
        return self.asked.read_text().split() if self.asked.exists() else []


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """Return a node in a folder that all users can reach, unlike `tmp_path`."""
    with TemporaryDirectory() as folder:
        made = Node(Path(folder))
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        yield made
        for process in made.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def sleeps(process: subprocess.Popen[bytes]) -> bool:
    """Return whether a process runs Python, and waits in the kernel for an event or a file."""
    assert process.poll() is None
    place = Path("/proc", str(process.pid))
    return (place / "comm").read_text().startswith("python3") and any(
        name in (place / "wchan").read_text() for name in ("wait_for_partner", "futex")
    )


@pytest.mark.parametrize("how", [(), ("reads",), ("thread",)])
def test_the_step_of_a_completing_job_is_killed_after_ten_seconds(
    node: Node, how: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    process = node.step("7", *how)
    node.state("7", "7 COMPLETING")
    node.wait_for(process)
    watch = Watch()
    watch.look(node.waiting(), 100)
    watch.look(node.waiting(), 109)
    assert node.questions() == []
    assert process.poll() is None
    watch.look(node.waiting(), 110)
    assert process.wait() == -signal.SIGKILL
    printed = f"killed: slurmstepd (PID {process.pid}) of job 7, which ended: it waited in open(2)\n"
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize(
    "states",
    [
        ("7 RUNNING",),
        ("7 SUSPENDED",),
        ("7 CONFIGURING",),
        ("7 STOPPED",),
        ("7 SIGNALING",),
        ("8 COMPLETING",),
        ("7 COMPLETING", "7 RUNNING"),
        ("slurm_load_jobs error: Unable to contact slurm controller",),
        (),
    ],
)
def test_without_a_clear_answer_no_step_is_killed(node: Node, states: tuple[str, ...]) -> None:
    process = node.step("7")
    node.state("7", *states)
    node.wait_for(process)
    watch = Watch()
    for now in (100, 110, 115, 1000):
        watch.look(node.waiting(), now)
    assert node.questions() == ["7"] * 3
    assert process.poll() is None
    # a state may change at any time
    node.state("7", "7 COMPLETING", "8 RUNNING")
    watch.look(node.waiting(), 1005)
    assert process.wait() == -signal.SIGKILL


def test_a_squeue_that_fails_ends_no_step_and_the_reason_is_logged_once(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    silent, ending = node.step("7"), node.step("8")
    node.state("8", "8 COMPLETING")
    node.wait_for(silent)
    node.wait_for(ending)
    watch = Watch()
    watch.look(node.waiting(), 100)
    watch.look(node.waiting(), 110)
    assert ending.wait() == -signal.SIGKILL
    watch.look(node.waiting(), 115)
    assert silent.poll() is None
    assert capsys.readouterr().out.count("not ended: squeue ") == 1


def test_other_processes_do_not_wait(node: Node) -> None:
    """A user chooses titles; a step with a child has started its task; a sleeping thread does not open a file."""
    others = [
        node.step("7", "user"),
        node.step("8", "child"),
        node.step("9", "sleeps"),
        node.step("10", title="slurmd: [{job}.batch]"),
        node.step("11", title="slurmstepd"),
    ]
    for other in others:
        until(partial(sleeps, other), "it waits")
    node.wait_for(node.step("12"))
    assert [step.job for step in node.waiting()] == ["12"]


def test_a_step_that_no_longer_waits_is_not_killed(node: Node) -> None:
    process = node.step("7", "child")
    node.state("7", "7 COMPLETING")
    known = until(lambda: processes.read(process.pid), "it runs")
    watch = Watch()
    for now in (100, 110):
        watch.look([Step(known, "7")], now)
    assert node.questions() == ["7"]
    assert process.poll() is None


def test_many_steps_have_their_turns(node: Node) -> None:
    jobs = [str(number) for number in range(1, 21)]
    for job in jobs:
        node.state(job, f"{job} RUNNING")
    steps = [Step(processes.Process(900_000_000 + int(job), 1, 5.0, 0, "", ()), job) for job in jobs]
    watch = Watch()
    watch.look(steps, 100)
    watch.look(steps, 110)
    assert node.questions() == jobs[:16]
    watch.look(steps, 115)
    assert node.questions()[16:20] == jobs[16:]
