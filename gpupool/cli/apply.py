"""`gpupool apply`: make the nodes match the inventory."""

from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli.running import (
    announced_runner,
    applied,
    changes_in,
    exit_if_failed,
    has_changes,
    logged,
    run,
    show,
)
from gpupool.cli.screen import (
    Inventory,
    Json,
    Limit,
    Log,
    OnOption,
    Verbose,
    ensure_confirmable,
    print_json,
    stdout,
)
from gpupool.documents.runs import RunDocument
from gpupool.errors import UsageError
from gpupool.run.runner import DeployRunner
from gpupool.run.saved_plan import SavedPlan, apply_saved, is_saved_plan, read
from gpupool.wording import counted


def command(
    inventory: Inventory,
    plan: Annotated[
        Path | None,
        typer.Argument(
            help="A file of `plan --out`: make exactly its changes, without asking; none if something changed since.",
            metavar="PLAN",
            show_default=False,
        ),
    ] = None,
    limit: Limit = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Apply without showing the plan and asking first.")] = False,
    on: OnOption = "auto",
    as_json: Json = False,
    log: Log = None,
    verbose: Verbose = False,
) -> None:
    """Make the nodes match the inventory. A node that fails does not stop the others. Exit code 1 if a node failed.

    Without --yes, show the plan and ask first. If one node refuses a change that would end
    jobs, no node is changed. Users that the inventory lacks are removed from slurmdbd, with their waiting jobs.

    Changes: the nodes, and accounts, QoS and limits in slurmdbd.

    Examples:
      gpupool apply my-site
      gpupool apply my-site --limit a40-01 --on nodes
      gpupool apply my-site plan.json
    """
    saved = _read(inventory, plan, limit)
    runner = announced_runner(inventory, on, "apply", verbose=verbose)
    if plan and saved:
        report = logged(apply_saved(runner, plan, saved, log), log)
    else:
        ensure_confirmable(yes, "apply changes nodes")
        if not yes and not _agreed(runner, limit):
            return
        report = run(runner, execute=True, limit=limit, log=log)
    if as_json:
        print_json(RunDocument(changed=report.changed, **report.as_dict()))
    else:
        show(stdout, report, diffs=False)
        style = "bold red" if report.failures else "bold green"
        stdout.print(f"{applied(report)} ({report.seconds:.1f} s)", style=style)
    exit_if_failed(report)


def _read(inventory: Path, plan: Path | None, limit: str | None) -> SavedPlan | None:
    if is_saved_plan(inventory):
        raise UsageError(f"{inventory} is a saved plan: name its inventory first: gpupool apply INVENTORY {inventory}")
    if plan and limit:
        raise UsageError("--limit: a saved plan has its nodes; use --limit with `gpupool plan --out`")
    return read(plan) if plan else None


def _agreed(runner: DeployRunner, limit: str | None) -> bool:
    report = run(runner, execute=False, limit=limit)
    return has_changes(report) and typer.confirm(
        f"Make {counted(changes_in(report), 'change')} on {runner.target.where}?", err=True
    )
