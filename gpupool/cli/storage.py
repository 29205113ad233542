"""`gpupool storage report`: list large directories, from the usage reports that the servers write."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.running import announced_runner, chosen
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, print_json, stdout
from gpupool.documents.state import UncountedEntry, UsageDocument, UsedEntry
from gpupool.errors import GpupoolError, UsageError
from gpupool.terminal import styled

if TYPE_CHECKING:
    from gpupool.cluster.model import Cluster
    from gpupool.run.usage import Uncounted, UsageReport, Used

app = typer.Typer(add_completion=False, no_args_is_help=True)

Over = Annotated[
    str | None,
    typer.Option(
        "--over",
        metavar="SIZE",
        help="Only directories larger than this, such as 10T; default: storage.usage_report.tag_over.",
    ),
]


@app.callback()
def storage() -> None:
    """Disk usage of the cluster's storage."""


@app.command("report")
def report(
    inventory: Inventory, over: Over = None, limit: Limit = None, on: OnOption = "auto", as_json: Json = False
) -> None:
    """List large directories, largest first. Exit code 1 if the reports of a server cannot be read.

    The sizes are those of the last regular count on the fileservers, disk-usage.txt; nothing is measured now.

    Changes: nothing.

    Examples:
      gpupool storage report my-site --over 10T
    """
    from gpupool.run.usage import usage_report

    runner = announced_runner(inventory, on, "storage report")
    least = _least(runner.target.cluster, over)
    usage = usage_report(runner, chosen(runner.target, limit))
    large = sorted(
        (directory for directory in usage.directories if directory.kib > least),
        key=lambda directory: (-directory.kib, directory.path),
    )
    if as_json:
        print_json(UsageDocument({
            "ok": not usage.trouble,
            "over_kib": least,
            "directories": [_directory(directory) for directory in large],
            "counted": len(usage.directories),
            "without_file": usage.missing,
            "not_written": [_uncounted(uncounted) for uncounted in usage.uncounted],
            "trouble": usage.trouble,
        }))  # fmt: skip
    else:
        _show(usage, large, least)
    if usage.trouble:
        raise SystemExit(1)


def _least(cluster: "Cluster", over: str | None) -> int:
    """Return the size in KiB above which a directory is listed."""
    from gpupool.cluster.units import parse_size

    usage = cluster.storage.usage_report
    if usage is None:
        raise GpupoolError("no usage report: the inventory has no storage.usage_report")
    if over is None:
        return (usage.tag_over or 0) * 1024
    try:
        return parse_size(over) * 1024
    except ValueError as error:
        raise UsageError(f"--over {error}") from None


def _show(usage: "UsageReport", large: "list[Used]", least: int) -> None:
    from gpupool.cluster.units import format_size

    if large:
        from rich.table import Table

        table = Table("Size", "Updated", "Owner", "Account", "Directory", box=None, header_style="bold", pad_edge=False)
        table.columns[0].justify = "right"
        for directory in large:
            table.add_row(directory.size, directory.updated, directory.owner, directory.account or "", directory.path)
        stdout.print_table(table)
    for left in usage.uncounted:
        stdout.print(f"{left.path} ({left.owner}): {left.why}", style="yellow")
    for where, why in usage.trouble.items():
        stdout.print(styled((where, "red"), ": ", why))
    rest = f"; {usage.missing} have no report yet" if usage.missing else ""
    summary = f"directories larger than {format_size(least // 1024)}: {len(large)} of {len(usage.directories)}"
    stdout.print(f"{summary}{rest}", style="bold")


def _directory(used: "Used") -> UsedEntry:
    return {
        "path": used.path,
        "node": used.node,
        "kib": used.kib,
        "size": used.size,
        "updated": used.updated,
        "owner": used.owner,
        "account": used.account,
    }


def _uncounted(directory: "Uncounted") -> UncountedEntry:
    return {"path": directory.path, "node": directory.node, "owner": directory.owner, "why": directory.why}
