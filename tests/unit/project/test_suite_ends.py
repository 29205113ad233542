"""A stopped run of `script/test` leaves nothing behind; the next run removes what a killed run leaves, and passes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from pace import until
from suite.leftovers import MARK

ROOT = Path(__file__).parents[3]
PREFIX = f"gpupool-unit-{os.getpid()}"

#: `script/test` with one layer, whose commands the test gives; a folder with a file for each container replaces Docker.
PROGRAM = """
import sys
import time
from pathlib import Path
from suite import __main__ as program, leftovers
from suite.layers import Layer
from suite.run import Work

build, layer, docker, *command = sys.argv[1:]
containers = Path(build, "containers")

def testbeds():
    while (containers.parent / "slow").exists():
        time.sleep(0.05)
    for file in sorted(containers.iterdir()):
        file.unlink()
        yield file.name

leftovers._docker_answers = lambda: True
leftovers.image.remove_abandoned = lambda: []
leftovers._twins, leftovers._testbeds = lambda: [], testbeds
program.preparations = lambda layers, logs: {"docker": Work("docker", [["true"]], 1, None, {})}
program.BUILD = Path(build)
program.LAYERS = (Layer(layer, (tuple(command),), 1, ("docker",) if docker == "docker" else ()),)
sys.argv[1:] = [layer]
sys.exit(program.main())
"""


@dataclass(frozen=True)
class Suite:
    """Runs of `script/test` with one layer; only the checkout is that of the run that includes this test."""

    folder: Path

    def start(self, layer: str, *command: str, docker: bool = False) -> "subprocess.Popen[str]":
        """Start a run of this layer."""
        words = [str(self.folder), layer, "docker" if docker else "alone", *command]
        environment = {name: value for name, value in os.environ.items() if name not in (MARK, "TMPDIR")}
        environment |= {
            "GPUPOOL_TESTBED_PREFIX": PREFIX,
            "PYTHONPATH": f"{ROOT}:{ROOT}/script",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
        }
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )

    def left(self, run: "subprocess.Popen[str]") -> list[str]:
        """Return the temporary files of a run, and the processes that use them."""
        files = list(Path("/tmp").glob(f"{PREFIX}.{run.pid}-*"))
        return [*map(str, files), *processes(f"TMPDIR=/tmp/{PREFIX}.{run.pid}-")]


def processes(mark: str) -> Iterator[str]:
    """Yield the processes whose environment contains a text."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (folder / "environ").read_text(errors="replace"):
                yield f"{folder.name} ({(folder / 'comm').read_text().strip()})"


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    (tmp_path / "containers").mkdir()
    return Suite(tmp_path)


def waiting_command(folder: Path, on_interrupt: str = "exit 1") -> tuple[str, ...]:
    """Return a command that creates a container, starts a process in a new session, and waits."""
    text = f"trap '{on_interrupt}' INT; touch {folder}/containers/ours; setsid sleep infinity & touch {folder}/begun; "
    return ("sh", "-c", f"{text}while :; do sleep 0.1; done")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_nothing_behind(suite: Suite, number: signal.Signals) -> None:
    run = suite.start("testbed", *waiting_command(suite.folder), docker=True)
    until((suite.folder / "begun").exists, "the layer runs")
    run.send_signal(number)
    _, output = run.communicate()
    assert run.returncode == 130
    assert output.endswith("stopped, and nothing is left\n")
    assert not list((suite.folder / "containers").iterdir())
    assert suite.left(run) == []


def test_a_second_ctrl_c_ends_tests_that_ignore_the_first(suite: Suite) -> None:
    run = suite.start("testbed", *waiting_command(suite.folder, "sleep infinity"), docker=True)
    until((suite.folder / "begun").exists, "the layer runs")
    assert run.stderr
    run.send_signal(signal.SIGINT)
    assert "stopping" in run.stderr.readline()
    run.send_signal(signal.SIGINT)
    lines = run.communicate()[1].splitlines()
    assert run.returncode == 130
    assert (lines[0], lines[-1]) == ("ending them at once", "stopped, and nothing is left")
    assert suite.left(run) == []


def test_ctrl_c_during_the_removal_shows_the_command_that_removes_the_rest(suite: Suite) -> None:
    run = suite.start("testbed", *waiting_command(suite.folder), docker=True)
    until((suite.folder / "begun").exists, "the layer runs")
    (suite.folder / "slow").touch()
    run.send_signal(signal.SIGINT)
    stderr = run.stderr
    assert stderr
    until(lambda: "removing" in stderr.readline(), "it removes containers")
    run.send_signal(signal.SIGINT)
    _, output = run.communicate()
    assert run.returncode == 130
    assert "script/test --clean" in output.splitlines()[-1]
    assert "Traceback" not in output


#: For a layer, a test that leaves something when it is killed: temporary files, as `roles` and `wheel` would, and for
#: `operations` also the files of a trial of slurm.conf.
SELECTIONS = {
    "unit": "tests/unit/cli/test_commands.py::test_init_overwrites_nothing",
    "operations": "tests/operations/test_trial.py::test_a_file_that_slurmctld_reads_without_ending_jobs_is_accepted",
}


@pytest.mark.parametrize("layer", SELECTIONS)
def test_after_a_kill_the_next_run_of_a_layer_passes(suite: Suite, layer: str) -> None:
    killed = suite.start(layer, "pytest", "-q", "-p", "no:cacheprovider", SELECTIONS[layer])
    begun = f"{PREFIX}.{killed.pid}-*/{layer}/pytest-of-*/pytest-*/*"
    until(lambda: list(Path("/tmp").glob(begun)) or killed.poll() is not None, "a test runs")
    assert killed.poll() is None, killed.communicate()[1]
    killed.kill()
    killed.communicate()
    next_run = suite.start(layer, "pytest", "-q", "-p", "no:cacheprovider", SELECTIONS[layer])
    _, output = next_run.communicate()
    assert next_run.returncode == 0, output
    assert "removed leftovers of an interrupted run: " in output
    assert suite.left(killed) == suite.left(next_run) == []
