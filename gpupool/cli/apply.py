"""`gpupool apply`: make the nodes what the inventory says."""

import sys
from typing import Annotated

import typer

from gpupool.cli.running import (
    announced_target,
    applied,
    changes_in,
    end_badly,
    planned,
    run,
    show,
    show_price,
)
from gpupool.cli.screen import Inventory, Json, Limit, Log, OnOption, counted, print_json, stderr, stdout
from gpupool.errors import GpupoolError
from gpupool.target import Target


def command(
    inventory: Inventory,
    limit: Limit = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply without showing the plan and asking first.")] = False,
    on: OnOption = "auto",
    as_json: Json = False,
    log: Log = None,
) -> None:
    """Make the nodes match the inventory. A node that fails does not stop the others. Exit code 1 if one failed."""
    target = announced_target(inventory, on)
    if not yes and not _agreed(target, limit):
        return
    report = run(target, execute=True, limit=limit, log=log)
    if as_json:
        print_json({"changed": report.changed, **report.as_dict()})
    else:
        show(stdout, report, diffs=False)
        style = "bold red" if report.failures else "bold green"
        stdout.print(f"{applied(report)} ({report.seconds:.1f} s)", style=style)
    end_badly(report)


def _agreed(target: Target, limit: str | None) -> bool:
    if not sys.stdin.isatty():
        raise GpupoolError("apply changes nodes: use --yes, or run it in a terminal to see the plan and confirm it")
    report = run(target, execute=False, limit=limit)
    show(stderr, report, diffs=True)
    show_price(stderr, report)
    if report.interrupted:
        raise KeyboardInterrupt
    if not report.changed:
        stderr.print(planned(report), style="green" if report.ok else "bold red")
        end_badly(report)
        return False
    return typer.confirm(f"Make {counted(changes_in(report), 'change')} on {target.where}?", err=True)
