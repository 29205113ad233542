"""The code of a failure is passed from the node, or from the operation that refuses, into the report."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from origin import ORIGIN
from pyinfra.api.command import StringCommand

from gpupool.engine.drive import run
from gpupool.engine.report import NodeHost
from gpupool.operations import service, slurm_upgrade
from gpupool.operations.frame import Commands, Refused, operation
from gpupool.reasons import Code, Reason, read

REBOOT = Reason(Code.NEEDS_REBOOT)
DOWN = Reason(Code.UNIT_DOWN, "slurmdbd.service")


@operation
def refuses(reason: Reason | None) -> Commands:
    """Refuse, with a code or without."""
    raise Refused("no") if reason is None else Refused("no", reason)
    yield


@operation
def fails(script: str) -> Commands:
    """Run a script."""
    yield StringCommand(script)


def reason_of(deploy: Any, execute: bool) -> Reason | None:
    """Return the code of a failure of the deploy on this machine."""
    report = run([NodeHost("here", connector="local")], deploy, execute=execute, origin=ORIGIN)
    assert report.failures["here"].endswith(": no")
    return report.hosts["here"].reason


@pytest.mark.parametrize("execute", [False, True])
def test_a_refusal_has_its_code_in_a_plan_and_in_a_run(execute: bool) -> None:
    assert reason_of(lambda: refuses(reason=REBOOT), execute) == REBOOT
    assert reason_of(lambda: refuses(reason=None), execute) == Reason(Code.REFUSED)


def test_a_script_may_print_a_code_and_otherwise_has_none() -> None:
    given = "echo 'gpupool-reason: unit-down slurmdbd.service' >&2; echo no >&2; exit 1"
    assert reason_of(lambda: fails(script=given), True) == DOWN
    assert reason_of(lambda: fails(script="echo no >&2; exit 1"), True) == Reason()


def test_a_node_without_a_connection_is_not_reached_and_a_node_that_refuses_is() -> None:
    dead = NodeHost("dead", (), {"ssh_hostname": "127.0.0.1", "ssh_port": 1, "ssh_user": "root"})
    report = run([dead], lambda: refuses(reason=None), execute=False, origin=None)
    assert not report.hosts["dead"].reached
    assert report.as_dict()["hosts"]["dead"]["reason"] == "unreachable"
    report = run([NodeHost("here", connector="local")], lambda: refuses(reason=None), execute=False, origin=None)
    assert report.hosts["here"].reached


@pytest.mark.parametrize(
    "script",
    [
        f"unit=slurmdbd.service\n{service._PRELUDE}\ndown 'does not start'",
        f"{slurm_upgrade._PRELUDE}\nanswers",
    ],
    ids=["start", "conversion"],
)
def test_a_slurmdbd_that_does_not_run_is_named_by_the_scripts(tmp_path: Path, script: str) -> None:
    programs = {"systemctl": "case $1 in show) echo 0;; *) echo failed; exit 3;; esac", "sacctmgr": "exit 1",
                "journalctl": "echo 'slurmdbd: fatal: gpupool-reason: x'", "ss": "exit 0"}  # fmt: skip
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    assert read(done.stderr.splitlines()) == DOWN, done.stderr
