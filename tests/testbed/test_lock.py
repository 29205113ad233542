"""Two people apply at the same time: the second one gets an error, and changes nothing."""

import getpass
import signal
import socket
import subprocess
import sys

from pace import until

from tests.testbed.cluster import ROOT, Testbed, gpupool

LOCK = "/run/gpupool-apply.lock"


def test_of_two_applies_one_is_refused_and_changes_nothing(idle: Testbed) -> None:
    idle.out("clippy", "rm /srv/share4")
    command = [sys.executable, "-m", "gpupool", "apply", str(idle.inventory), "--on", "testbed", "--yes"]
    first = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    until(lambda: idle.out("clippy", f"cat {LOCK} 2>/dev/null || true"), "the first one has its nodes")
    first.send_signal(signal.SIGSTOP)
    try:
        second = idle.apply("--limit", "clippy,sky1")
        other = idle.plan("--limit", "clippy")
    finally:
        first.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert f"{getpass.getuser()}@{socket.gethostname()} has been applying here since" in second.stdout
    assert "0 of 2 nodes match the inventory; 2 failed" in second.stdout
    assert other[0] in (0, 3)
    assert first.wait() == 0
    assert idle.out("clippy", "readlink /srv/share4") == "/coc/pskynet4"
    assert gpupool("apply", idle.inventory, "--on", "testbed", "--yes").returncode == 0


def test_a_killed_apply_leaves_no_lock(idle: Testbed) -> None:
    command = [sys.executable, "-m", "gpupool", "apply", str(idle.inventory), "--on", "testbed", "--yes"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    until(lambda: idle.out("clippy", f"cat {LOCK} 2>/dev/null || true"), "it has its nodes")
    running.kill()
    running.wait()
    assert idle.apply().returncode == 0
