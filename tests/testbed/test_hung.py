"""A node that hangs: its kernel answers, but no program does."""

import subprocess
import sys

from pace import until

from tests.testbed.cluster import ROOT, Testbed, docker, gpupool, hang_up


def test_an_apply_names_a_node_that_hangs_and_finishes_the_others(idle: Testbed) -> None:
    command = [sys.executable, "-m", "gpupool", "apply", str(idle.inventory), "--on", "testbed", "--yes"]
    frozen = idle.container("clippy")
    idle.out("sky1", "rm -f /srv/share4")
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT)
    try:
        # the node is locked for this run, so it has been reached
        until(lambda: idle.out("clippy", "cat /run/gpupool-apply.lock 2>/dev/null || true"), "clippy is at work")
        hang_up(frozen)
        docker("pause", frozen)
        words, _ = running.communicate()
    finally:
        docker("unpause", frozen)
    assert running.returncode == 1
    assert "1 failed: clippy" in words
    assert "the connection was lost" in words
    assert idle.out("sky1", "readlink /srv/share4") == "/coc/pskynet4", "other nodes go on"
    assert idle.apply().returncode == 0


def test_verify_names_a_node_that_hangs(idle: Testbed) -> None:
    frozen = idle.container("clippy")
    hang_up(frozen)
    docker("pause", frozen)
    try:
        done = gpupool("verify", idle.inventory, "--on", "testbed", "--limit", "clippy,sky1")
    finally:
        docker("unpause", frozen)
    assert done.returncode == 1
    assert "clippy: " in done.stdout
    assert "sky1: " not in done.stdout
