"""`gpupool drift`: differences from the inventory in files and in running daemons, and their consequences."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.running import announced_runner, chosen, passed_over, run
from gpupool.cli.screen import Inventory, Json, Limit, OnOption, print_json, stdout
from gpupool.documents.state import DifferenceEntry, DriftDocument
from gpupool.terminal import styled
from gpupool.wording import counted

if TYPE_CHECKING:
    from gpupool.programs.drift.difference import Difference

_WIDEST = 48  # characters of a column
_MOST = 40  # rows: a screen


Metrics = Annotated[
    Path | None,
    typer.Option("--metrics", help="Write the counts to this file, for Prometheus' node exporter.", metavar="FILE"),
]


def command(
    inventory: Inventory, limit: Limit = None, on: OnOption = "auto", as_json: Json = False, metrics: Metrics = None
) -> None:
    """Show how live nodes differ from the inventory. Exit code 3: a difference, 1: no answer.

    Each difference has the inventory's value, the file's on the node, and the live one in Slurm, systemd or the kernel.

    Changes: nothing.

    Examples:
      gpupool drift my-site
      gpupool drift my-site --limit a40-01 --json
    """
    runner = announced_runner(inventory, on, "drift")
    target = runner.target
    plan = run(runner, execute=False, limit=limit)
    plan.ensure_not_interrupted()
    # pyinfra is slow to import, so only commands that need nodes import it
    from gpupool.drift.ask import drift
    from gpupool.drift.metrics import metrics_text, write

    names = (chosen(target, limit) or {node.name for node in target.nodes}) - {*plan.asleep, *plan.away}
    seen = drift(runner, plan, names)
    if metrics:
        looked = [node.name for node in target.nodes if node.name in names]
        write(metrics, metrics_text(seen.differences, looked, seen.unread, time.time()))
    if as_json:
        print_json(DriftDocument({
            "ok": not seen.unread,
            "drift": bool(seen.differences),
            "asleep": list(plan.asleep),
            "out_of_service": list(plan.away),
            "trouble": dict(seen.unread),
            "differences": [_entry(difference) for difference in seen.differences],
        }))  # fmt: skip
    else:
        if seen.differences:
            from rich.table import Table

            table = Table(
                "Node", "What", "Inventory", "File", "Live", "If nothing is done",
                box=None, header_style="bold", pad_edge=False,
            )  # fmt: skip
            for difference in seen.differences[:_MOST]:
                columns = (_short(column) for column in (difference.inventory, difference.file, difference.live))
                table.add_row(difference.node, difference.what, *columns, difference.then)
            stdout.print_table(table)
            if more := len(seen.differences[_MOST:]):
                stdout.print(f"and {more} more; --json lists all of them", style="dim")
        for name, why in seen.unread.items():
            stdout.print(styled((name, "red"), ": ", why))
        nodes = counted(len(names), "node")
        outcome = f"{counted(len(seen.differences), 'difference')}" if seen.differences else "no drift"
        failed = f", {len(seen.unread)} failed" if seen.unread else ""
        stdout.print(f"{nodes}: {outcome}{failed}{passed_over(plan.asleep, plan.away)}", style="bold")
    if seen.unread:
        raise SystemExit(1)
    if seen.differences:
        raise SystemExit(3)


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


def _entry(difference: "Difference") -> DifferenceEntry:
    return {
        "node": difference.node,
        "kind": difference.kind,
        "what": difference.what,
        "inventory": difference.inventory,
        "file": difference.file,
        "live": difference.live,
        "then": difference.then,
    }
