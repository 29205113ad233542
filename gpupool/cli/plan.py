"""`gpupool plan`: show what apply would change, without changing anything."""

from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli import price
from gpupool.cli.running import announced_runner, exit_if_failed, planned, run, show, show_price
from gpupool.cli.screen import Inventory, Json, Limit, Log, OnOption, Verbose, print_json, stderr, stdout
from gpupool.documents.runs import RunDocument
from gpupool.engine.report import Report
from gpupool.run.runner import DeployRunner
from gpupool.run.saved_plan import ensure_writable, saved_plan
from gpupool.wording import shortened


def command(
    inventory: Inventory,
    limit: Limit = None,
    on: OnOption = "auto",
    as_json: Json = False,
    as_page: Annotated[bool, typer.Option("--markdown", help="Print a page for a pull request.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Save the plan, for `gpupool apply INVENTORY FILE`.", metavar="FILE"),
    ] = None,
    log: Log = None,
    verbose: Verbose = False,
) -> None:
    """Show what apply would change, with diffs and effects. Exit code 3: changes, 1: a node failed.

    Changes: nothing.

    Examples:
      gpupool plan my-site
      gpupool plan my-site --limit a40-01,@login
      gpupool plan my-site --on nodes --markdown
      gpupool plan my-site --out plan.json
    """
    if out:
        ensure_writable(out)
    runner = announced_runner(inventory, on, "plan", verbose=verbose)
    report = run(runner, execute=False, limit=limit, log=log)
    if as_json:
        print_json(RunDocument(changed=report.changed, **report.as_dict()))
    elif as_page:
        print(price.markdown(report, planned(report)), end="")
    else:
        show(stdout, report, diffs=True)
        show_price(stdout, report)
        stdout.print(f"{planned(report)} ({report.seconds:.1f} s)", style="bold")
    if out:
        _save(runner, report, out)
    exit_if_failed(report)
    if report.changed:
        raise SystemExit(3)


def _save(runner: DeployRunner, report: Report, out: Path) -> None:
    if report.interrupted:
        return
    if report.failures:
        failed = shortened(report.failures)
        stderr.print(f"{out}: not saved, because {failed} failed: correct that, or use --limit", style="yellow")
        return
    saved_plan(report, runner.target).write(out)
    stderr.print(f"saved: `gpupool apply {runner.target.inventory} {out}` makes exactly these changes", style="dim")
