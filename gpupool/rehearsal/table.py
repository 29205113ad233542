"""A rehearsal's findings on a terminal, a line each; in a pipe, plain text a line each."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gpupool.rehearsal.finding import Finding, Outcome
from gpupool.rehearsal.page import SIGNS
from gpupool.rehearsal.page_data import OUTCOMES, Rehearsed, verdict, words_for

_STYLES: dict[Outcome, str] = {"kept": "green", "broken": "bold red", "void": "bold yellow", "not made": "dim"}
_WIDE = 120  # columns; a narrower terminal has no room for what was tried


def show(console: Console, it: Rehearsed) -> None:
    """Print the table, what is broken or void in full, then the counts and the verdict."""
    if console.is_terminal:
        console.print(_table(it, console.width), soft_wrap=False)
    else:
        for finding in it.findings:
            console.print(_line(finding), markup=False, soft_wrap=True)
    for outcome in ("void", "broken"):
        for finding in it.findings:
            if finding.outcome == outcome:
                _aloud(console, finding)
    console.print(_counts(it), end=" ")
    console.print(f"({words_for(it.seconds)})", style="dim")
    console.print(f"{verdict(it.counts)}: {it.cluster}, Slurm {it.version}", style=_STYLES[it.worst])


def _table(it: Rehearsed, width: int) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    wide = width >= _WIDE
    table.add_column("", no_wrap=True)
    table.add_column("Promise", ratio=4, no_wrap=True, overflow="ellipsis")
    if wide:
        table.add_column("Tried", ratio=4, no_wrap=True, overflow="ellipsis")
    table.add_column("Happened", ratio=5, no_wrap=True, overflow="ellipsis")
    table.add_column("Seconds", justify="right", no_wrap=True)
    for finding in it.findings:
        style = _STYLES[finding.outcome]
        sign = f"[{style}]{SIGNS[finding.outcome]} {finding.outcome}[/]"
        tried = [escape(finding.tried)] if wide else []
        table.add_row(sign, escape(finding.words), *tried, escape(finding.happened), f"{finding.seconds:.1f}")
    return table


def _line(it: Finding) -> str:
    head = f"{it.outcome:<8}  {it.promise:<16}  {it.words}"
    return f"{head}; tried: {it.tried}; happened: {it.happened} ({it.seconds:.1f} s)"


def _aloud(console: Console, it: Finding) -> None:
    console.print(
        f"\n{SIGNS[it.outcome]} {it.outcome}: {it.promise}: {it.words}", style=_STYLES[it.outcome], markup=False
    )
    console.print(f"  tried     {it.tried}", markup=False)
    console.print(f"  happened  {it.happened}", markup=False)


def _counts(it: Rehearsed) -> str:
    said = [f"[{_STYLES[outcome]}]{it.counts[outcome]} {outcome}[/]" for outcome in OUTCOMES if it.counts[outcome]]
    return "\n" + ", ".join(said)
