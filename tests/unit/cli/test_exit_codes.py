"""The exit codes that docs/concepts.md promises."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changing import change_of
from forked import command as gpupool_alone

from gpupool.cli import apply, plan
from gpupool.engine.report import HostReport, Report

EXAMPLE = Path(__file__).parents[3] / "inventory" / "example"


@pytest.fixture(autouse=True)
def no_testbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("plan {} --on nonsense", "--on nonsense: must be auto, testbed, testbed:NAME or nodes"),
        ("apply {} --yes --on nodes:x", "--on nodes:x: must be auto, testbed, testbed:NAME or nodes"),
        ("verify {} --limit @nosuch", "--limit"),
        ("storage report {} --over x", "--over"),
        ("render {} nosuch", "there is no node nosuch in"),
        ("rehearse {} --only nosuch", "--only: there is no promise nosuch"),
        ("testbed up {} --vm nosuch", "--vm"),
        ("testbed up {} --network 10.66", "'10.66' is not an IPv4 network"),
        ("init {}", "exists and is not empty"),
    ],
)
def test_an_invalid_command_line_is_2_and_one_line(gpupool: Callable[..., Any], line: str, message: str) -> None:
    done = gpupool(*line.format(EXAMPLE).split())
    assert done.code == 2, done.err
    assert message in done.err.splitlines()[-1]
    assert done.out == ""


@pytest.mark.parametrize("line", ["plan {} --limit nosuch", "apply {} --yes --limit nosuch"])
def test_a_limit_that_selects_no_node_is_2(line: str, tmp_path: Path) -> None:
    done = gpupool_alone(line.format(EXAMPLE).split(), tmp_path)
    assert done.returncode == 2, done.stderr
    assert "--limit" in done.stderr.splitlines()[-1]
    assert done.stdout == ""


@pytest.mark.parametrize("line", ["plan", "plan {} --limti x", "plna {}", "rehearse {} --slurm 9", "plan {} --limit"])
def test_a_limit_that_cannot_be_read_is_2(gpupool: Callable[..., Any], line: str) -> None:
    assert gpupool(*line.format(EXAMPLE).split()).code == 2


@pytest.mark.parametrize(
    "line", ["plan {} --on testbed", "apply {}", "testbed status {}", "testbed ssh {} login1", "testbed down {}"]
)
def test_a_task_that_is_impossible_here_is_1(gpupool: Callable[..., Any], line: str) -> None:
    assert gpupool(*line.format(EXAMPLE).split()).code == 1


@pytest.mark.parametrize("command", ["check", "render", "plan", "apply --yes", "verify", "testbed up", "rehearse"])
def test_errors_in_the_inventory_are_2(gpupool: Callable[..., Any], command: str) -> None:
    assert gpupool(*command.split(), Path(__file__).parents[1] / "cluster" / "broken" / "typo_key").code == 2


CHANGES = (change_of("Files | /etc/hosts"),)
RIGHT, OTHER = HostReport(True, None, (), 9, 1.0), HostReport(True, None, CHANGES, 9, 1.0)
REFUSED = HostReport(False, "Slurm configuration: refused, jobs would end: 7", CHANGES, 9, 1.0)


@pytest.mark.parametrize(
    ("hosts", "of_plan", "of_apply"),
    [
        ((RIGHT, RIGHT), 0, 0),
        ((RIGHT, OTHER), 3, 0),
        ((OTHER, REFUSED), 1, 1),
    ],
    ids=["nothing to change", "something would change", "a change that is refused"],
)
def test_the_exit_code_of_a_plan_predicts_the_apply(
    gpupool: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    hosts: tuple[HostReport, ...],
    of_plan: int,
    of_apply: int,
) -> None:
    report = Report({f"n{number}": host for number, host in enumerate(hosts, 1)}, 2.0, False)
    for module in (apply, plan):
        monkeypatch.setattr(module, "announced_runner", lambda *_, **__: None)
        monkeypatch.setattr(module, "run", lambda *_, **__: report)
    assert gpupool("plan", "anything").code == of_plan
    assert gpupool("apply", "--yes", "anything").code == of_apply
