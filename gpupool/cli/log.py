"""`gpupool log`: who applied what, when and from which commit, as the nodes themselves wrote it down."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from gpupool.asleep import asleep
from gpupool.cli.running import announced_target, chosen, few, passed_over
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, counted, print_json, stderr, stdout
from gpupool.cluster.units import parse_duration
from gpupool.errors import UsageError
from gpupool.target import Target
from gpupool.terminal import styled

if TYPE_CHECKING:
    from gpupool.facts.applies import Applied, AppliedState

Since = Annotated[
    str | None,
    typer.Option("--since", help="Only runs that began since: a date, a time in UTC, or an age such as 12h."),
]
Long = Annotated[bool, typer.Option("--long", help="List each change.")]
_SHORT = 10  # characters of a commit


@dataclass(frozen=True)
class Run:
    """Show one run, as each node recorded it."""

    nodes: Mapping[str, "Applied"]

    @property
    def first(self) -> "Applied":
        """Return what the node says that was changed first."""
        return min(self.nodes.values(), key=lambda record: record.begun)

    @property
    def outcome(self) -> str:
        """Return how it ended, in a few words: "" when all is well."""
        failed = [name for name, it in self.nodes.items() if it.failure]
        open_ = [name for name, it in self.nodes.items() if not it.ended]
        if any(it.under_way for it in self.nodes.values()):
            return "under way"
        parts = [f"failed: {few(failed)}"] if failed else []
        return "; ".join([*parts, f"not ended: {few(open_)}"] if open_ else parts)


def command(
    inventory: Inventory,
    limit: Limit = None,
    since: Since = None,
    long: Long = False,
    on: OnOption = "auto",
    as_json: Json = False,
) -> None:
    """List the applies that changed nodes: when, who, commit, what. Exit code 1 if a node cannot be read."""
    after = moment(since) if since else ""
    target = announced_target(inventory, on)
    names = chosen(target, limit) or {node.name for node in target.nodes}
    resting = asleep(target, names)
    logs, trouble = _ask(target, names - set(resting))
    runs = [run for run in merged(logs) if run.first.begun >= after]
    if as_json:
        print_json({
            "ok": not trouble,
            "asleep": list(resting),
            "trouble": trouble,
            "runs": [{"run": run.first.run, "nodes": {it: asdict(run.nodes[it]) for it in run.nodes}} for run in runs],
        })  # fmt: skip
    else:
        _show(runs, long)
        for name, log in logs.items():
            if log.damaged:
                stdout.print(styled((name, "yellow"), f": {counted(log.damaged, 'line')} of its log cannot be read"))
        for name, why in trouble.items():
            stdout.print(styled((name, "red"), ": ", why))
        stdout.print(f"{counted(len(runs), 'run')}{passed_over(resting)}", style="bold")
    if trouble:
        raise SystemExit(1)


def moment(text: str) -> str:
    """Return `2030-01-31`, `2030-01-31T08:12` or `12h` (ago) as the log writes times. UsageError if it is none."""
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


def merged(logs: Mapping[str, "AppliedState"]) -> list[Run]:
    """Return the runs of all nodes, oldest first."""
    runs: dict[str, dict[str, Applied]] = {}
    for name, log in logs.items():
        for applied in log.runs:
            runs.setdefault(applied.run, {})[name] = applied
    return sorted(map(Run, runs.values()), key=lambda run: (run.first.begun, run.first.run))


def _ask(target: Target, names: set[str]) -> tuple[dict[str, "AppliedState"], dict[str, str]]:
    """Return what the nodes answer, and why others do not."""
    if not names:
        return {}, {}
    logs: dict[str, AppliedState] = {}

    # pyinfra is slow to import: only commands that need nodes wait for it
    from gpupool.engine.drive import run
    from gpupool.engine.here import here
    from gpupool.engine.progress import shown
    from gpupool.facts.applies import Applies
    from gpupool.operations.frame import look

    def ask() -> None:
        logs[here()[1].name] = look(Applies, "the log of applies")

    with shown(stderr) as progress:
        done = run(target.hosts, ask, execute=False, progress=progress, limit=names)
    if done.interrupted:
        raise KeyboardInterrupt
    return {node.name: logs[node.name] for node in target.nodes if node.name in logs}, dict(done.failures)


def _show(runs: Sequence[Run], long: bool) -> None:
    if not long:
        table = Table("Begun (UTC)", "Who", "Command", "Commit", "Nodes", "Changes", "", box=None, pad_edge=False)
        for run in runs:
            table.add_row(*_row(run))
        if runs:
            stdout.whole(table)
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
        few(run.nodes),
        count,
        run.outcome,
    )


def _changes(run: Run) -> Iterator[str]:
    """Return each change once, with the nodes that had it; what was not named; and what failed."""
    nodes: dict[str, list[str]] = {}
    for name, record in run.nodes.items():
        for change in record.changes:
            nodes.setdefault(change, []).append(name)
    for change, names in nodes.items():
        yield f"    {few(names)}: {change}"
    for name, record in run.nodes.items():
        if more := record.count - len(record.changes):
            yield f"    {name}: and {more} more"
        if record.failure:
            yield f"    {name}: {record.failure}"
