"""Names and reasons from other programs are printed unchanged by every command."""

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from changing import change_of
from hypothesis import given
from hypothesis import strategies as some
from inventories import SMALL
from rich.table import Table

import gpupool.cli
from gpupool.cli import running, storage
from gpupool.cli.screen import stderr, stdout
from gpupool.engine.explain import one_line
from gpupool.engine.progress import shown as progress_on
from gpupool.engine.report import HostReport, Report
from gpupool.run.usage import Uncounted, UsageReport, Used
from gpupool.terminal import Screen, plain, styled
from gpupool.verify.run import Outcome

ODD = "[/tmp] [red]x inv.yml:100: [link=x]y[/link] :+1:"
ORDERS = "\x1b]0;title\x07\x1b[2Jgone\r\x9b1m\u202e"
SHOWN = r"\x1b]0;title\x07\x1b[2Jgone\r\x9b1m\u202e"


@given(some.text(max_size=40))
def test_any_text_is_printed_unchanged(text: str) -> None:
    """On a line, in a table, and as a part with a separate style."""
    out = io.StringIO()
    screen = Screen(file=out, width=400, force_terminal=False)
    screen.print(text)
    screen.print(styled((text, "red"), text))
    assert out.getvalue() == f"{plain(text)}\n{plain(text)}{plain(text)}\n".expandtabs() or "\t" in text
    assert re.fullmatch(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f]*", out.getvalue())


def test_cells_of_a_table_are_not_markup() -> None:
    out = io.StringIO()
    table = Table("a", box=None, title="[/t]")
    table.add_row(ODD + ORDERS)
    Screen(file=out, width=400).print(table)
    Screen(file=out, width=20).print_table(table)
    assert out.getvalue().count(ODD + SHOWN) == 2
    assert out.getvalue().count("[/t]") == 2


@pytest.mark.parametrize("terminal", [True, False])
def test_a_wide_table_is_broken_inside_of_its_cells_on_a_terminal_only(terminal: bool) -> None:
    """The terminal would continue the last column at the left edge of the next line."""
    table = Table("Node", "If nothing is done", box=None)
    words = " ".join(f"word{number}" for number in range(20))
    table.add_row("a40-01", words)
    table.add_row("a40-02", "x" * 70)
    out = io.StringIO()
    Screen(file=out, width=50, force_terminal=terminal, no_color=True).print_table(table)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue()).splitlines()
    assert max(map(len, lines)) == 50 if terminal else len(lines) == 3
    column = " ".join(line[lines[0].index("If") :].strip() for line in lines[1:])
    assert column.replace(" ", "") == words.replace(" ", "") + "x" * 70


def report_of(why: str) -> Report:
    change = change_of(f"Files | {why}", f"+{why}\n")
    return Report({"a40-01": HostReport(ok=False, failure=why, changes=(change,), commands=1, seconds=1.0)}, 1.0)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_plan_prints_reasons_and_changes_unchanged(terminal: bool) -> None:
    out = io.StringIO()
    running.show(
        Screen(file=out, width=400, force_terminal=terminal, no_color=True), report_of(ODD + ORDERS), diffs=True
    )
    text = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert text.count(ODD + SHOWN) == 3
    assert "\x1b" not in text


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_prints_names_unchanged(terminal: bool) -> None:
    out = io.StringIO()
    screen = Screen(file=out, width=400, force_terminal=terminal, no_color=True)
    with progress_on(screen) as progress:
        progress.stage("Execute", 2)
        progress.step("a40-01", ODD + ORDERS)
        progress.tick()
        progress.failed(ODD, ODD + ORDERS)
        progress.note(ODD + ORDERS)
    assert out.getvalue().count(ODD + SHOWN) >= 2
    assert "\x1b]0;" not in out.getvalue()


def test_a_long_operation_hides_neither_count_nor_time() -> None:
    out = io.StringIO()
    with progress_on(Screen(file=out, width=100, force_terminal=True, no_color=True)) as progress:
        progress.stage("Rehearse", 21)
        progress.step("cap", "Every lab reaches its cap, and not one GPU more, while all others wait for theirs " * 3)
        progress.tick()
        lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue()).replace("\r", "\n").splitlines()
    (shown,) = {line for line in lines if "Every lab" in line}
    assert re.search(r"Rehearse  +0/21 0:00:0\d cap: Every lab reaches.*…$", shown.strip()), shown
    assert len(shown) <= 100


def test_a_reason_of_a_node_is_one_line_without_control_sequences() -> None:
    assert one_line(f"\x1b[31mfirst\x1b[0m\nsecond {ODD}{ORDERS}") == f"first second {ODD}" + SHOWN.replace(
        r"\x1b[2J", ""
    ).replace(r"\r", " ")


def test_the_storage_report_prints_users_names(gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    used = Used(f"/coc/{ODD}", "multivac", 1, "1.0K", "2020-11-21 15:04", ODD, None)
    report = UsageReport([used], 0, [Uncounted(f"/coc/{ODD}/left", "multivac", ODD, ODD)], {ODD: ODD})
    monkeypatch.setattr("gpupool.run.usage.usage_report", lambda *_: report)
    monkeypatch.setattr(storage, "_least", lambda *_: 0)
    out = gpupool("storage", "report", SMALL, "--on", "nodes")
    assert out.code == 1
    assert out.out.count(ODD) == 7
    assert f"/coc/{ODD}/left ({ODD}): {ODD}" in out.out


def test_verify_prints_reasons_unchanged(gpupool: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(to: object, names: object, tell: Callable[[Outcome], None]) -> list[Outcome]:
        tell(outcome)
        return [outcome]

    outcome = Outcome("node may get jobs", "gpu-1", False, ODD + ORDERS)
    monkeypatch.setattr("gpupool.verify.run.run", failing)
    out = gpupool("verify", SMALL, "--on", "nodes")
    assert out.code == 1
    assert f"gpu-1: node may get jobs: {ODD}{SHOWN}" in out.out


def test_a_line_number_is_no_emoji(gpupool: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "inv.yml").write_text("#\n" * 99 + "nope: 1\n")
    assert "inv.yml:100: error: nope: unknown key" in gpupool("check", tmp_path).out


def test_no_command_has_a_console_that_reads_markup() -> None:
    """All commands print through the consoles of `gpupool.terminal`."""
    assert isinstance(stdout, Screen)
    assert isinstance(stderr, Screen)
    folder = Path(gpupool.cli.__file__).parents[1]
    texts = {path: path.read_text() for path in folder.rglob("*.py") if path.name != "shown.py"}
    assert not [path for path, text in texts.items() if re.search(r"\bConsole\(", text)]
    assert not [path for path, text in texts.items() if re.search(r"markup=True|from_markup|rich\.markup", text)]
