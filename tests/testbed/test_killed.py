"""`kill -9` of apply at any moment: the next apply converges, and no file is half written."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpupool.compile import files_for
from gpupool.reach import reach
from tests.testbed.cluster import ROOT, Testbed, docker, gpupool, until

EXAMPLE = ROOT / "inventory" / "example"
KILLS = 10


@pytest.fixture(scope="module")
def example() -> Iterator[Testbed]:
    """The example's nodes, with nothing deployed on them yet."""
    gpupool("testbed", "down", EXAMPLE)
    done = gpupool("testbed", "up", EXAMPLE, "--network", "10.171.0.0/16")
    assert done.returncode == 0, done.stderr
    yield Testbed(EXAMPLE, reach(EXAMPLE, "testbed"))
    gpupool("testbed", "down", EXAMPLE)


def half_written(testbed: Testbed) -> list[str]:
    """Give the files that are neither as they were nor as they should be; all of ours end in a newline."""
    wrong = []
    for node in testbed.to.nodes:
        for file in files_for(testbed.cluster, node):
            found = testbed.run(node.name, f"cat {file.path}")
            if "Written by gpupool" in found.stdout and found.stdout != file.text:
                wrong.append(f"{node.name}:{file.path}")
    return wrong


def test_kill_9_at_ten_moments_and_the_next_apply_converges(example: Testbed) -> None:
    command = [sys.executable, "-m", "gpupool", "apply", str(EXAMPLE), "--on", "testbed", "--yes"]
    died = 0
    for moment in range(KILLS):
        began = time.monotonic()
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        # later and later: what the run before has done, this one finds done
        time.sleep(1.5 + 0.7 * moment)
        running.send_signal(signal.SIGKILL)
        died += running.wait() == -signal.SIGKILL
        assert time.monotonic() - began < 30
        assert half_written(example) == []
    assert died >= KILLS // 2, "most runs must have been killed, not finished"
    done = gpupool("apply", EXAMPLE, "--on", "testbed", "--yes")
    assert done.returncode == 0, done.stdout
    assert gpupool("plan", EXAMPLE, "--on", "testbed").returncode == 0
    for node in example.to.nodes:
        assert example.out(node.name, "find /etc /var/lib/gpupool -name '*.gpupool-new'") == ""
        wanted = {file.path: file.text for file in files_for(example.cluster, node)}
        for path, text in wanted.items():
            assert example.run(node.name, f"cat {path}").stdout == text, f"{node.name}:{path}"
    done = gpupool("verify", EXAMPLE, "--on", "testbed")
    assert done.returncode == 0, done.stdout


def test_down_removes_what_it_made_and_nothing_else(example: Testbed, skynet: Testbed) -> None:
    def things(kind: str) -> set[str]:
        listing = {"container": ["ps", "-a", "--format", "{{.Names}}"]}.get(kind, [kind, "ls", "--format", "{{.Name}}"])
        return set(docker(*listing).split())

    assert example.to.testbed
    assert skynet.to.testbed
    kinds = ("container", "network", "volume")
    before = {kind: things(kind) for kind in kinds}
    done = gpupool("testbed", "down", EXAMPLE)
    assert done.returncode == 0, done.stderr
    for kind in kinds:
        gone = before[kind] - things(kind)
        assert gone == {name for name in before[kind] if name.startswith(f"{example.to.testbed.id}")}, kind
    assert not [name for name in things("container") if name.startswith(example.to.testbed.id)]
    assert not Path(example.to.testbed.key).exists()
    until(lambda: skynet.run("sky1", "sinfo").returncode == 0, "the other testbed still answers")
