"""`gpupool storage report`: which directories are large, as the files that the servers write every week say."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from gpupool.cli.running import announced_target, chosen
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, print_json, stderr, stdout
from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.units import format_size, parse_size
from gpupool.compile.programs import HOME
from gpupool.compile.system.usage import SETTINGS, jobs_for
from gpupool.errors import GpupoolError, UsageError
from gpupool.programs.usage.note import human
from gpupool.target import Target
from gpupool.terminal import styled

if TYPE_CHECKING:
    from gpupool.facts.usage import UsageState

app = typer.Typer(no_args_is_help=True)

Over = Annotated[
    str | None,
    typer.Option(
        "--over", help="Only directories larger than this, such as 10T; default: storage.usage_report.tag_over."
    ),
]


@dataclass(frozen=True)
class Used:
    """A directory by the path that people know, on the node that counted it: KiB, when, whose, and of which account."""

    path: str
    node: str
    kib: int
    size: str
    updated: str
    owner: str
    account: str | None


@dataclass(frozen=True)
class Uncounted:
    """A directory that the last count gave no file, by the path that people know; whose it is, and why."""

    path: str
    node: str
    owner: str
    why: str


@dataclass
class UsageReport:
    """What all nodes said: directories, how many have no report yet, and what could not be read: where -> why."""

    directories: list[Used] = field(default_factory=list)
    missing: int = 0
    uncounted: list[Uncounted] = field(default_factory=list)
    trouble: dict[str, str] = field(default_factory=dict)


@app.callback()
def storage() -> None:
    """Disk usage of the cluster's storage."""


@app.command("report")
def report(
    inventory: Inventory, over: Over = None, limit: Limit = None, on: OnOption = "auto", as_json: Json = False
) -> None:
    """List large directories, largest first. Exit code 1 if those of a server cannot be read."""
    target = announced_target(inventory, on)
    least = _least(target.cluster, over)
    usage = ask(target, chosen(target, limit))
    large = sorted(
        (it for it in usage.directories if it.kib > least), key=lambda directory: (-directory.kib, directory.path)
    )
    if as_json:
        print_json({
            "ok": not usage.trouble,
            "over_kib": least,
            "directories": [asdict(it) for it in large],
            "counted": len(usage.directories),
            "without_file": usage.missing,
            "not_written": [asdict(it) for it in usage.uncounted],
            "trouble": usage.trouble,
        })  # fmt: skip
    else:
        _show(usage, large, least)
    if usage.trouble:
        raise SystemExit(1)


def _least(cluster: Cluster, over: str | None) -> int:
    """Return what a directory must have more than, in KiB."""
    usage = cluster.storage.usage_report
    if usage is None:
        raise GpupoolError("no usage report: the inventory has no storage.usage_report")
    if over is None:
        return (usage.tag_over or 0) * 1024
    try:
        return parse_size(over) * 1024
    except ValueError as error:
        raise UsageError(f"--over {error}") from None


def ask(target: Target, names: set[str] | None) -> UsageReport:
    """Read the files of all nodes that count, or of those in `names`; a node that is away is part of the answer."""
    counting = {node.name for node in target.nodes if jobs_for(target.cluster, node).count}
    if names is not None:
        counting &= names
    if not counting:
        return UsageReport()
    states: dict[str, UsageState | None] = {}

    # pyinfra is slow to import: only commands that need nodes wait for it
    from gpupool.engine.drive import run
    from gpupool.engine.here import here
    from gpupool.engine.progress import shown
    from gpupool.facts.usage import Usage
    from gpupool.operations.ambient import this_host

    def look() -> None:
        states[here()[1].name] = this_host().get_fact(Usage, home=HOME, settings=SETTINGS)

    with shown(stderr) as progress:
        done = run(target.hosts, look, execute=False, progress=progress, limit=counting)
    if done.interrupted:
        raise KeyboardInterrupt
    reported = UsageReport(trouble=dict(done.failures))
    for name in (node.name for node in target.nodes if node.name in states):
        if name not in reported.trouble:
            add(reported, target.cluster, target.cluster.nodes[name], states[name])
    return reported


def add(usage: UsageReport, cluster: Cluster, node: Node, state: "UsageState | None") -> None:
    """Add what one node said, or why it could not be had."""
    if state is None:
        usage.trouble[node.name] = "its file systems did not answer in time"
        return
    if state.absent:
        usage.trouble[node.name] = "the report is not installed yet: run gpupool apply"
        return
    seen = {it.path: it.seen for it in jobs_for(cluster, node).count}
    for top, known in seen.items():
        if top not in state.missing:
            usage.trouble[f"{node.name}:{top}"] = state.trouble.get(top, "no report of it yet: run gpupool apply")
        usage.missing += state.missing.get(top, 0)
        usage.directories += _used(cluster, node, state, top, known)
        here = [it for it in state.left if it.top == top]
        usage.uncounted += [Uncounted(f"{known}/{it.path}".rstrip("/"), node.name, it.owner, it.why) for it in here]


def _used(cluster: Cluster, node: Node, state: "UsageState", top: str, known: str) -> Iterator[Used]:
    for directory in state.directories:
        if directory.top == top:
            user = cluster.users.get(directory.owner)
            path, account = f"{known}/{directory.path}", user.account if user else None
            yield Used(
                path, node.name, directory.kib, human(directory.kib), directory.updated, directory.owner, account
            )


def _show(usage: UsageReport, large: list[Used], least: int) -> None:
    if large:
        table = Table("Size", "Updated", "Owner", "Account", "Directory", box=None, header_style="bold", pad_edge=False)
        table.columns[0].justify = "right"
        for directory in large:
            table.add_row(directory.size, directory.updated, directory.owner, directory.account or "", directory.path)
        stdout.whole(table)
    for left in usage.uncounted:
        stdout.print(f"{left.path} ({left.owner}): {left.why}", style="yellow")
    for where, why in usage.trouble.items():
        stdout.print(styled((where, "red"), ": ", why))
    rest = f"; {usage.missing} have no report yet" if usage.missing else ""
    summary = f"directories larger than {format_size(least // 1024)}: {len(large)} of {len(usage.directories)}"
    stdout.print(f"{summary}{rest}", style="bold")
