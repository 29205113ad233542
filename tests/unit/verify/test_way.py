"""A node that is lost while it is checked fails its checks in words and at once; the others are checked."""

import contextlib
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from testinfra.host import Host

from gpupool.engine import ssh
from gpupool.target import find_target
from gpupool.verify import test_node, way
from gpupool.verify.run import Outcome, run
from gpupool.verify.way import Way

EXAMPLE = Path(__file__).parents[3] / "inventory" / "example"

# OpenSSH's client, for three nodes: one that hangs, one that breaks off in the middle, and others that say nothing much
SSH = """#!/bin/sh
echo "$*" >> "{log}"
case $* in
  *hangs*|*" head-01 "*) exec sleep 1000;;
  *away*) echo 'ssh: connect to host away port 22: No route to host' >&2; exit 255;;
  *breaks*) [ ! -e "{log}.once" ] || exit 255; touch "{log}.once"; echo fine;;
  *) exit 3;;
esac
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in for ssh, and keep what it was called with."""
    log = tmp_path / "log"
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(SSH.format(log=log))
    program.chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(way, "CHECK_SECONDS", 3.0)
    return log


def said(host: Host) -> str:
    with pytest.raises(pytest.fail.Exception) as failed:
        host.run("hostname")
    return str(failed.value)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("hangs", "the connection was lost: no answer in 3 s"),
        ("away", "cannot be reached: ssh: connect to host away port 22: No route to host"),
    ],
)
def test_a_node_that_does_not_answer_is_asked_once(log: Path, name: str, why: str) -> None:
    host = Host(Way(name, "/config"))
    assert [said(host), said(host)] == [why, why]
    assert len(log.read_text().splitlines()) == 1


def test_a_connection_that_breaks_is_said(log: Path) -> None:
    host = Host(Way("breaks", "/config"))
    assert host.run("hostname").stdout == "fine\n"
    assert said(host) == "the connection was lost: the node does not answer"


def test_an_exit_status_is_the_commands_own(log: Path) -> None:
    assert Host(Way("other", "/config")).run("exit 3").rc == 3


def test_words_are_those_of_an_apply() -> None:
    assert way.LOST == ssh.LOST


@pytest.mark.parametrize(("seconds", "message"), [(600, "600 s ahead"), (-600, "600 s behind"), (20, "")])
def test_a_clock_that_is_off_is_named(seconds: int, message: str) -> None:
    class Node:
        def check_output(self, command: str) -> str:
            return subprocess.check_output(["date", "-d", f"{seconds} seconds", command.split()[1]], text=True)

    at_all: Any = Node()
    with contextlib.nullcontext() if not message else pytest.raises(AssertionError, match=message):
        test_node.test_clock_is_right(at_all, at_all)


def test_all_checks_of_a_node_that_hangs_fail_and_the_others_are_made(log: Path) -> None:
    target = find_target(EXAMPLE, "nodes")
    first, other = target.nodes[0].name, target.nodes[1].name
    log.parent.joinpath("bin", "ssh").write_text(SSH.format(log=log).replace("head-01", first))
    outcomes: list[Outcome] = []
    assert run(target, {first, other}, outcomes.append) == outcomes
    lost = {it.why for it in outcomes if it.node == first}
    assert lost == {"the connection was lost: no answer in 3 s"}
    assert len([line for line in log.read_text().splitlines() if f" {first} " in line]) == 1
    assert not any("lost" in it.why for it in outcomes if it.node == other)
