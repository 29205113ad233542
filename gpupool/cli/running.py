"""Shared parts of `plan` and `apply`: the target, the deploy, and the output of a report."""

from collections.abc import Sequence
from pathlib import Path

from gpupool.cli import price
from gpupool.cli.screen import stderr
from gpupool.engine.report import Report
from gpupool.errors import UsageError
from gpupool.run.runner import DeployRunner
from gpupool.target import Target, find_target
from gpupool.terminal import Screen, styled
from gpupool.wording import changed, counted, shortened

MANY = 60


def announced_runner(inventory: Path, on: str, command: str, *, verbose: bool = False) -> DeployRunner:
    """Load the inventory, print its target, and return the `DeployRunner` that runs the command's deploys."""
    return DeployRunner(find_target(inventory, on), command, stderr, verbose).announced()


def chosen(target: Target, limit: str | None) -> set[str] | None:
    """Return the names that `--limit` selects; None for all."""
    if limit is None:
        return None
    try:
        names = set(target.cluster.select(limit))
    except ValueError as error:
        raise UsageError(f"--limit {error}") from None
    if not names:
        raise UsageError(f"--limit {limit!r} selects no node that gpupool manages")
    return names


def run(runner: DeployRunner, *, execute: bool, limit: str | None, log: Path | None = None) -> Report:
    """Plan or apply the whole site on the nodes that `--limit` selects."""
    names = chosen(runner.target, limit)
    return logged(runner.apply(names, log) if execute else runner.plan(names, log), log)


def logged(report: Report, log: Path | None) -> Report:
    """Return the report; print a warning if the log of its run is incomplete."""
    if report.log_failure:
        stderr.print(f"--log {log}: {report.log_failure}: the end of this run is missing from it", style="yellow")
    return report


def _show_changes(console: Screen, report: Report, *, diffs: bool) -> None:
    """Print each change once, with its nodes and its diff.

    If there are more than `MANY` changes, print their number by step instead.
    """
    groups = report.grouped
    if len(groups) > MANY:
        _count_changes(console, report)
        return
    for change, names in groups.items():
        cost = "" if change.effect.what == "nothing" else f"  [{change.effect.what}]"
        console.print(styled((shortened(names), "bold"), ": ", change.operation, (cost, "yellow")))
        if diffs and (text := changed(change)):
            _show_diff(console, text.rstrip("\n"))


def _show_diff(console: Screen, text: str) -> None:
    for line in text.split("\n"):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
        console.print(f"    {line}", style=style)


def _count_changes(console: Screen, report: Report) -> None:
    from rich.table import Table

    table = Table("Step", "Nodes", "Changes", box=None, header_style="bold", pad_edge=False)
    counts_by_step: dict[str, dict[str, int]] = {}
    for name, host in report.hosts.items():
        for change in host.changes:
            counts = counts_by_step.setdefault(change.step.partition(" | ")[0], {})
            counts[name] = counts.get(name, 0) + 1
    for step, counts in counts_by_step.items():
        table.add_row(step, shortened(counts), str(sum(counts.values())))
    console.print_table(table)
    console.print("--json lists all of them", style="dim")


def show(console: Screen, report: Report, *, diffs: bool) -> None:
    """Print changes, warnings, and one line for each node that failed."""
    _show_changes(console, report, diffs=diffs)
    nodes_by_note: dict[str, list[str]] = {}
    for name, host in report.hosts.items():
        for text in host.notes:
            nodes_by_note.setdefault(text, []).append(name)
    for text, names in nodes_by_note.items():
        console.print(styled((shortened(names), "bold"), ": ", text))
    for name, why in report.failures.items():
        console.print(styled((name, "red"), ": ", why))


def show_price(console: Screen, report: Report) -> None:
    """Print the effects of a plan on services and jobs, on one screen."""
    for line in price.summary(report):
        console.print(line)
    for line in price.jobs(report):
        console.print(f"  jobs of {line}")


def planned(report: Report) -> str:
    """Return the summary of a plan; changes of a node that failed are unknown."""
    good, failed = len(report.hosts) - len(report.failures), len(report.failures)
    if report.changed:
        parts = [f"{counted(changes_in(report), 'change')} pending"]
    elif not failed:
        parts = ["nothing to change"]
    else:
        parts = [f"nothing to change on {good}"] if good else []
    summary = ", ".join([*parts, *([f"{failed} failed"] if failed else [])])
    return f"{counted(len(report.hosts), 'node')}: {summary}{passed_over(report.asleep, report.away)}"


def passed_over(names: Sequence[str], away: Sequence[str] = ()) -> str:
    """Return the end of a summary: the nodes that are powered down, and those out of service, that were skipped."""
    asleep = f"; asleep: {', '.join(names)}" if names else ""
    return asleep + (f"; out of service and not reached: {', '.join(away)}" if away else "")


def applied(report: Report) -> str:
    """Return the summary of an apply. A failed step may have done part of its work, which is not counted."""
    failures = report.failures
    good = len(report.hosts) - len(failures)
    summary = f"{good} of {counted(len(report.hosts), 'node')} match the inventory"
    if report.changed:
        summary += f"; {counted(changes_in(report), 'change')}"
    elif not failures:
        summary += "; nothing to change"
    if failures:
        summary += f"; {len(failures)} failed: {', '.join(failures)}"
        if any(report.hosts[name].commands for name in failures):
            summary += "; changes of failed steps are not counted"
    return summary + passed_over(report.asleep, report.away)


def has_changes(report: Report) -> bool:
    """Show the plan of a command and its price before it asks; return whether there is anything to ask about.

    Exits with 1 if nothing would change and a node failed.
    """
    show(stderr, report, diffs=True)
    show_price(stderr, report)
    report.ensure_not_interrupted()
    if not report.changed:
        stderr.print(planned(report), style="green" if report.ok else "bold red")
        exit_if_failed(report)
    return report.changed


def exit_if_failed(report: Report) -> None:
    """Raise KeyboardInterrupt if Ctrl-C stopped the run; exit with 1 if a node failed."""
    report.ensure_not_interrupted()
    if not report.ok:
        raise SystemExit(1)


def changes_in(report: Report) -> int:
    """Count the changes of all nodes."""
    return sum(len(host.changes) for host in report.hosts.values())
