"""A rehearsal's findings as a table on a terminal; in a pipe, as plain text, one line each."""

from rich.table import Table
from rich.text import Text

from gpupool.rehearsal.finding import Finding, Outcome
from gpupool.rehearsal.report.data import OUTCOMES, Rehearsed, verdict, words_for
from gpupool.rehearsal.report.page import SIGNS
from gpupool.terminal import Screen, styled

_STYLES: dict[Outcome, str] = {"kept": "green", "broken": "bold red", "void": "bold yellow", "not made": "dim"}
_WIDE = 120  # characters; a narrower terminal does not show the column Tried


def show(screen: Screen, rehearsed: Rehearsed) -> None:
    """Print the table, broken and void findings in full, then the counts and the verdict."""
    if screen.is_terminal:
        screen.print(_table(rehearsed, screen.console.width), soft_wrap=False)
    else:
        for finding in rehearsed.findings:
            screen.print(styled(_line(finding)), soft_wrap=True)
    for outcome in ("void", "broken"):
        for finding in rehearsed.findings:
            if finding.outcome == outcome:
                _aloud(screen, finding)
    screen.print(_counts(rehearsed), end=" ")
    screen.print(f"({words_for(rehearsed.seconds)})", style="dim")
    other = rehearsed.not_rehearsed_with
    screen.print(
        styled(
            f"{verdict(rehearsed.counts)}: {rehearsed.cluster}, Slurm {rehearsed.version}"
            + (f" (not rehearsed with slurm.version, which is {other})" if other else "")
        ),
        style=_STYLES[rehearsed.worst],
    )


def _table(rehearsed: Rehearsed, width: int) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, expand=True)
    wide = width >= _WIDE
    table.add_column("", no_wrap=True)
    table.add_column("Key", no_wrap=True)  # for --only
    table.add_column("Promise", ratio=4, no_wrap=True, overflow="ellipsis")
    if wide:
        table.add_column("Tried", ratio=4, no_wrap=True, overflow="ellipsis")
    table.add_column("Happened", ratio=5, no_wrap=True, overflow="ellipsis")
    table.add_column("Seconds", justify="right", no_wrap=True)
    for finding in rehearsed.findings:
        sign = styled((f"{SIGNS[finding.outcome]} {finding.outcome}", _STYLES[finding.outcome]))
        tried = [styled(finding.tried)] if wide else []
        table.add_row(
            sign, finding.promise, styled(finding.text), *tried, styled(finding.happened), f"{finding.seconds:.1f}"
        )
    return table


def _line(finding: Finding) -> str:
    head = f"{finding.outcome:<8}  {finding.promise:<16}  {finding.text}"
    return f"{head}; tried: {finding.tried}; happened: {finding.happened} ({finding.seconds:.1f} s)"


def _aloud(screen: Screen, finding: Finding) -> None:
    screen.print(
        styled(f"\n{SIGNS[finding.outcome]} {finding.outcome}: {finding.promise}: {finding.text}"),
        style=_STYLES[finding.outcome],
    )
    screen.print(styled(f"  tried     {finding.tried}"))
    screen.print(styled(f"  happened  {finding.happened}"))


def _counts(rehearsed: Rehearsed) -> Text:
    parts = [
        styled((f"{rehearsed.counts[outcome]} {outcome}", _STYLES[outcome]))
        for outcome in OUTCOMES
        if rehearsed.counts[outcome]
    ]
    return Text("\n") + Text(", ").join(parts)
