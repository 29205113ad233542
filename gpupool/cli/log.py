"""`gpupool log`: the applies that changed nodes (who, when, from which commit), from the log of each node."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.running import announced_runner, chosen, passed_over
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, print_json, stdout
from gpupool.documents.state import AppliedEntry, LogDocument
from gpupool.errors import UsageError
from gpupool.run.log import Run, history
from gpupool.terminal import styled
from gpupool.wording import counted, shortened

if TYPE_CHECKING:
    from gpupool.facts.applies import Applied

Since = Annotated[
    str | None,
    typer.Option(
        "--since", metavar="WHEN", help="Only runs that began after this date, time in UTC, or age such as 12h."
    ),
]
Long = Annotated[bool, typer.Option("--long", help="List each change.")]
_SHORT = 10  # characters of a commit


def command(
    inventory: Inventory,
    limit: Limit = None,
    since: Since = None,
    long: Long = False,
    on: OnOption = "auto",
    as_json: Json = False,
) -> None:
    """List all runs that changed nodes, also of maintain and upgrade: when, who, what.

    Exit code 1 if a node cannot be read.

    Changes: nothing.

    Examples:
      gpupool log my-site --since 7d
      gpupool log my-site --limit a40-01 --long
    """
    after = moment(since) if since else ""
    runner = announced_runner(inventory, on, "log")
    seen = history(runner, chosen(runner.target, limit), after)
    if as_json:
        print_json(LogDocument({
            "ok": not seen.unread,
            "asleep": list(seen.asleep),
            "trouble": dict(seen.unread),
            "runs": [
                {"run": run.first.run, "nodes": {name: _entry(record) for name, record in run.nodes.items()}}
                for run in seen.runs
            ],
        }))  # fmt: skip
    else:
        _show(seen.runs, long)
        for name, count in seen.damaged.items():
            stdout.print(styled((name, "yellow"), f": {counted(count, 'line')} of its log cannot be read"))
        for name, why in seen.unread.items():
            stdout.print(styled((name, "red"), ": ", why))
        stdout.print(f"{counted(len(seen.runs), 'run')}{passed_over(seen.asleep)}", style="bold")
    if seen.unread:
        raise SystemExit(1)


def moment(text: str) -> str:
    """Return a date, a time or an age (`12h`) in the log's format of times; UsageError if it is none of them."""
    from gpupool.cluster.units import parse_duration

    try:
        then = datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    except ValueError:
        try:
            then = datetime.fromisoformat(text)
        except ValueError:
            raise UsageError(
                f"--since {text!r}: must be a date (2030-01-31), a time (2030-01-31T08:12) or a duration (12h)"
            ) from None
    then = then.replace(tzinfo=UTC) if then.tzinfo is None else then.astimezone(UTC)
    return then.strftime("%Y-%m-%dT%H:%M:%SZ")


def _show(runs: Sequence[Run], long: bool) -> None:
    if not long:
        from rich.table import Table

        table = Table("Begun (UTC)", "Who", "Command", "Commit", "Nodes", "Changes", "", box=None, pad_edge=False)
        for run in runs:
            table.add_row(*_row(run))
        if runs:
            stdout.print_table(table)
        return
    for run in runs:
        stdout.print(styled(("  ".join(filter(None, _row(run))), "bold")))
        for line in _changes(run):
            stdout.print(line)


def _row(run: Run) -> tuple[str, ...]:
    first = run.first
    commit = first.commit[:_SHORT] + ("+" if first.uncommitted else "")
    count = str(sum(node.count for node in run.nodes.values()))
    return (
        first.begun.replace("T", " ").rstrip("Z"),
        first.who,
        first.command,
        commit or "-",
        shortened(run.nodes),
        count,
        run.outcome,
    )


def _changes(run: Run) -> Iterator[str]:
    """Yield each change with its nodes, the number of changes that are not listed, and the failures."""
    nodes: dict[str, list[str]] = {}
    for name, record in run.nodes.items():
        for change in record.changes:
            nodes.setdefault(change, []).append(name)
    for change, names in nodes.items():
        yield f"    {shortened(names)}: {change}"
    for name, record in run.nodes.items():
        if more := record.count - len(record.changes):
            yield f"    {name}: and {more} more"
        if record.failure:
            yield f"    {name}: {record.failure}"


def _entry(record: "Applied") -> AppliedEntry:
    return {
        "run": record.run,
        "begun": record.begun,
        "who": record.who,
        "command": record.command,
        "version": record.version,
        "cluster": record.cluster,
        "commit": record.commit,
        "uncommitted": record.uncommitted,
        "ended": record.ended,
        "count": record.count,
        "changes": list(record.changes),
        "failure": record.failure,
        "under_way": record.under_way,
    }
