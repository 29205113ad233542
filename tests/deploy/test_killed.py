"""`kill -9` of apply at any moment: the next apply converges, and no file is half written."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import start

from gpupool.cluster.node import Node
from gpupool.compile import files_for
from gpupool.target import find_target
from gpupool.testbed import docker, state
from gpupool.testbed.look import ssh_command
from gpupool.testbed.spec import LABEL
from gpupool.testbed.state import State
from tests.testbed.cluster import ROOT, Testbed, gpupool

EXAMPLE = ROOT / "inventory" / "example"
KILLS = 10


@pytest.fixture(scope="module")
def example() -> Iterator[Testbed]:
    """The example's nodes, with nothing deployed on them."""
    gpupool("testbed", "down", EXAMPLE)
    done = gpupool("testbed", "up", EXAMPLE, "--network", "10.171.0.0/16")
    assert done.returncode == 0, done.stderr
    yield Testbed(EXAMPLE, find_target(EXAMPLE, "testbed"))
    gpupool("testbed", "down", EXAMPLE)


def contents(testbed: Testbed, node: Node) -> dict[str, str | None]:
    """Return the text of each file that gpupool writes on a node, or None if the file does not exist."""
    paths = [file.path for file in files_for(testbed.cluster, node)]
    script = "import json, pathlib, sys; read = lambda path: path.read_text() if path.is_file() else None; "
    script += "print(json.dumps({name: read(pathlib.Path(name)) for name in sys.argv[1:]}))"
    found: dict[str, str | None] = json.loads(testbed.out(node.name, shlex.join(["python3", "-c", script, *paths])))
    return found


def half_written(testbed: Testbed) -> list[str]:
    """Return the files that are neither in the old nor in the wanted state; all of ours end in a newline."""
    wrong = []
    for node in testbed.target.nodes:
        found = contents(testbed, node)
        for file in files_for(testbed.cluster, node):
            text = found[file.path] or ""
            if "Written by gpupool" in text and text != file.text:
                wrong.append(f"{node.name}:{file.path}")
    return wrong


def test_kill_9_at_ten_moments_and_the_next_apply_converges(example: Testbed) -> None:
    command = [sys.executable, "-m", "gpupool", "apply", str(EXAMPLE), "--on", "testbed", "--yes"]
    died = 0
    for moment in range(KILLS):
        once = start()  # measured again: the load of the machine changes in these minutes
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        # later each time: a run finds the work of the run before done
        time.sleep((3 + 1.4 * moment) * once)
        running.send_signal(signal.SIGKILL)
        died += running.wait() == -signal.SIGKILL
        assert half_written(example) == []
    assert died >= KILLS // 2, "most runs must have been killed, not finished"
    done = gpupool("apply", EXAMPLE, "--on", "testbed", "--yes")
    assert done.returncode == 0, done.stdout
    assert gpupool("plan", EXAMPLE, "--on", "testbed").returncode == 0
    for node in example.target.nodes:
        assert example.out(node.name, "find /etc /var/lib/gpupool -name '*.gpupool-new'") == ""
        assert contents(example, node) == {file.path: file.text for file in files_for(example.cluster, node)}
    done = gpupool("verify", EXAMPLE, "--on", "testbed")
    assert done.returncode == 0, done.stdout


@pytest.fixture
def beside(example: Testbed) -> Iterator[State]:
    """Another testbed of the same inventory, with nothing deployed on it."""
    done = gpupool("testbed", "up", EXAMPLE, "--name", "beside", "--network", "10.172.0.0/16")
    assert done.returncode == 0, done.stderr
    yield state.find(EXAMPLE, name="beside")
    gpupool("testbed", "down", EXAMPLE, "--name", "beside")


def test_down_removes_its_testbed_and_no_other(example: Testbed, beside: State) -> None:
    def things(testbed: State) -> dict[str, list[str]]:
        return {kind: docker.labelled(kind, f"{LABEL}={testbed.id}") for kind in ("container", "network", "volume")}

    gone = example.target.testbed
    assert gone
    before, others = things(gone), things(beside)
    assert all(before.values())
    assert all(others.values())
    done = gpupool("testbed", "down", EXAMPLE, "--name", gone.name)
    assert done.returncode == 0, done.stderr
    assert not any(things(gone).values())
    assert things(beside) == others
    assert not Path(gone.key).exists()
    for node in beside.nodes:
        output = subprocess.run(
            ssh_command(beside, node, "root", ["hostname"]), capture_output=True, text=True, check=True
        )
        assert output.stdout.strip() == node
