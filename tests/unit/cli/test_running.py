"""The last line of `plan` and `apply`: the findings or changes, without any that are uncertain."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from changing import change_of

from gpupool.cli import apply, plan
from gpupool.cli.running import applied, planned
from gpupool.engine.report import HostReport, Report

CHANGES = (change_of("Files | /etc/hosts"), change_of("Units | start ssh.service"))
RIGHT, OTHER = HostReport(True, None, (), 9, 1.0), HostReport(True, None, CHANGES, 9, 1.0)
AWAY = HostReport(False, "cannot be reached: no answer", (), 0, 1.0)
BROKEN = HostReport(False, "Accounts: slurmdbd refuses it", (), 12, 1.0)
HALF = HostReport(False, "Accounts: slurmdbd refuses it", CHANGES, 12, 1.0)
PARTS = "; changes of failed steps are not counted"


def report(*hosts: HostReport, interrupted: bool = False) -> Report:
    return Report({f"n{number}": host for number, host in enumerate(hosts, 1)}, 2.0, interrupted)


@pytest.mark.parametrize(
    ("hosts", "plan_says", "apply_says"),
    [
        ((RIGHT, RIGHT), "2 nodes: nothing to change", "2 of 2 nodes match the inventory; nothing to change"),
        ((RIGHT, OTHER), "2 nodes: 2 changes pending", "2 of 2 nodes match the inventory; 2 changes"),
        ((AWAY,), "1 node: 1 failed", "0 of 1 node match the inventory; 1 failed: n1"),
        (
            (RIGHT, AWAY),
            "2 nodes: nothing to change on 1, 1 failed",
            "1 of 2 nodes match the inventory; 1 failed: n2",
        ),
        (
            (OTHER, AWAY),
            "2 nodes: 2 changes pending, 1 failed",
            "1 of 2 nodes match the inventory; 2 changes; 1 failed: n2",
        ),
        ((BROKEN,), "1 node: 1 failed", f"0 of 1 node match the inventory; 1 failed: n1{PARTS}"),
        (
            (HALF, RIGHT),
            "2 nodes: 2 changes pending, 1 failed",
            f"1 of 2 nodes match the inventory; 2 changes; 1 failed: n1{PARTS}",
        ),
    ],
)
def test_the_last_line(hosts: tuple[HostReport, ...], plan_says: str, apply_says: str) -> None:
    assert planned(report(*hosts)) == plan_says
    assert applied(report(*hosts)) == apply_says


@pytest.mark.parametrize(
    ("hosts", "code", "message"),
    [((RIGHT,), 0, "1 node: nothing to change"), ((RIGHT, AWAY), 1, "2 nodes: nothing to change on 1, 1 failed")],
)
def test_apply_that_asks_fails_if_a_node_was_unreachable(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, hosts: tuple[HostReport, ...], code: int, message: str
) -> None:
    for module in (apply, plan):
        monkeypatch.setattr(module, "announced_runner", lambda *_, **__: None)
        monkeypatch.setattr(module, "run", lambda *_, **__: report(*hosts))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    done = gpupool("apply", "anything")
    assert done.code == code
    assert done.err.splitlines()[-1] == message
    assert gpupool("plan", "anything").out.splitlines()[-1] == f"{message} (2.0 s)"


def test_entities_left_to_another_system_are_printed_and_are_no_change(
    gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = HostReport(True, None, (), 9, 1.0, ("left in slurmdbd: account other",))
    monkeypatch.setattr(plan, "announced_runner", lambda *_, **__: None)
    monkeypatch.setattr(plan, "run", lambda *_, **__: report(noted))
    done = gpupool("plan", "anything")
    assert done.code == 0
    assert "n1: left in slurmdbd: account other" in done.out
    assert done.out.splitlines()[-1].startswith("1 node: nothing to change")
