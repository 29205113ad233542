"""The table at the end of a rehearsal: a line for each promise, on one screen, and broken or void ones in full."""

import io
import re
from dataclasses import replace

import pytest
from rehearsed import rehearsal

from gpupool.rehearsal.report.data import Rehearsed
from gpupool.rehearsal.report.table import show
from gpupool.terminal import Screen


def _shown(rehearsed: Rehearsed, *, terminal: bool, width: int = 140) -> str:
    out = io.StringIO()
    color_system = "standard" if terminal else None
    show(Screen(file=out, force_terminal=terminal, width=width, color_system=color_system), rehearsed)
    return out.getvalue()


def _plain(text: str) -> list[str]:
    return re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()


@pytest.mark.parametrize("width", [80, 140, 200])
def test_on_a_terminal_the_table_fits_one_screen(width: int) -> None:
    lines = _plain(_shown(rehearsal(), terminal=True, width=width))
    assert len(lines) <= 1 + 17 + 7
    assert all(len(line) <= width for line in lines[:18])
    assert sum(line.startswith("✓ kept") for line in lines) == 15
    keys = [finding.promise for finding in rehearsal().findings]
    assert [line[len("– not made") :].split()[0] for line in lines[1 : 1 + len(keys)]] == keys, "the values of --only"


def test_only_terminals_get_colours() -> None:
    assert "\x1b[" in _shown(rehearsal(), terminal=True)
    assert "\x1b[" not in _shown(rehearsal(), terminal=False)


def test_in_a_pipe_every_promise_is_a_complete_line() -> None:
    rehearsed = rehearsal(broken=True)
    lines = _shown(rehearsed, terminal=False).splitlines()
    for finding, line in zip(rehearsed.findings, lines, strict=False):
        assert line.split()[0] == finding.outcome.split()[0]
        assert all(part in line for part in (finding.promise, finding.text, finding.tried, finding.happened))


def test_another_release_than_the_inventorys_is_named() -> None:
    (*_, last) = _plain(_shown(replace(rehearsal(), configured="25.11"), terminal=False))
    assert last.endswith("skynet, Slurm 24.11 (not rehearsed with slurm.version, which is 25.11)")
    (*_, last) = _plain(_shown(replace(rehearsal(), configured="24.11"), terminal=False))
    assert last.endswith("skynet, Slurm 24.11")


@pytest.mark.parametrize("terminal", [True, False])
def test_void_and_broken_promises_are_printed_in_full_at_the_end(terminal: bool) -> None:
    rehearsed = rehearsal(broken=True)
    lines = _plain(_shown(rehearsed, terminal=terminal, width=60))
    assert "! void: neighbour-cpus: Another lab's CPU-only jobs cannot lock a lab's GPUs out" in lines
    assert "✗ broken: cap: Every lab reaches its cap, and not one GPU more" in lines
    assert "  happened  kira-lab held 33 GPUs: one more than it put in" in lines
    assert lines[-2:] == [
        "14 kept, 1 broken, 1 void, 1 not made (3 min 51 s)",
        "1 of 16 promises was broken: skynet, Slurm 24.11",
    ]


def test_words_in_brackets_are_not_markup() -> None:
    rehearsed = rehearsal()
    finding = replace(rehearsed.findings[0], text="[bold]x", tried="[/]", happened="[red]", outcome="void")
    for terminal in (True, False):
        assert "[bold]x" in _shown(replace(rehearsed, findings=[finding]), terminal=terminal)
