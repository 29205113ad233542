"""The display for a person: lines in a log, bars on a terminal."""

import io
import re
import subprocess
import sys

import pytest
from inventories import SMALL

from gpupool.engine import progress
from gpupool.engine.bars import BarProgress
from gpupool.engine.progress import LineProgress, ShownProgress, shown
from gpupool.terminal import Screen


def screen(terminal: bool) -> Screen:
    return Screen(file=io.StringIO(), force_terminal=terminal, width=100)


def text(screen: Screen) -> str:
    assert isinstance(screen.console.file, io.StringIO)
    return screen.console.file.getvalue()


def story(display: ShownProgress) -> None:
    with display:
        display.stage("Connect", 2)
        display.step("n1", "connecting")
        display.advance()
        display.failed("n2", "cannot be reached: [no] answer")
        display.advance()
        display.stage("Execute", 10)
        display.step("n1", "slurm | install [all]")
        display.tick()
        display.note("stopping")
        display.advance(9)


def test_progress_in_a_log_has_lines() -> None:
    out = screen(terminal=False)
    story(shown(out))
    assert [re.sub(r"^ +\d+\.\d s  ", "", line) for line in text(out).splitlines()] == [
        "failed: n2: cannot be reached: [no] answer",
        "Connect: 2 of 2 nodes, 1 failed",
        "stopping",
        "Execute: 9 of 10 operations",
    ]


def test_a_long_wait_prints_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    out = screen(terminal=False)
    monkeypatch.setattr(progress, "SILENCE_SECONDS", 0)
    with LineProgress(out) as lines:
        lines.stage("Execute", 10)
        lines.tick()
        lines.step("n1", "slurm | install")
        lines.tick()
    assert "Execute: 0 of 10; now waiting" in text(out)
    assert "Execute: 0 of 10; now n1: slurm | install" in text(out)


def test_progress_on_a_terminal_has_bars() -> None:
    out = screen(terminal=True)
    display = shown(out)
    assert isinstance(display, BarProgress)
    story(display)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text(out))
    assert "✗ n2  cannot be reached: [no] answer" in plain
    assert "slurm | install [all]" in plain
    assert "9/10" in plain
    assert "stopping" in plain


APPLIED = f"""
import sys
from gpupool import cli
from gpupool.engine.report import NodeHost
from gpupool.run import runner
from gpupool.target import Target
from pyinfra.operations import server

def site():
    server.shell(name="install [all]", commands=["true"])

Target.hosts = property(lambda target: [NodeHost("here", connector="local")])
runner.SITE = site
sys.argv = ["gpupool", "apply", {str(SMALL)!r}, "--on", "nodes", "--yes", *sys.argv[1:]]
cli.main()
"""


@pytest.mark.parametrize("option", ["", "-v", "--verbose"])
def test_details_have_each_operation_and_the_messages_of_pyinfra(option: str) -> None:
    words = [sys.executable, "-c", APPLIED, *filter(None, [option])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [re.sub(r"^ +\d+\.\d s  ", "", line) for line in done.stderr.splitlines()]
    details = ["Execute: 0 of 1; now here: install [all]", "@local | Success"]
    assert [line for line in details if line in lines] == (details if option else [])
    assert "Execute: 1 of 1 operations" in lines
