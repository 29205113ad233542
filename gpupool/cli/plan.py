"""`gpupool plan`: show what apply would change, without changing anything."""

from typing import Annotated

import typer

from gpupool.cli import price
from gpupool.cli.running import announced_runner, exit_if_failed, planned, run, show, show_price
from gpupool.cli.screen import Inventory, Json, Limit, Log, OnOption, print_json, stdout


def command(
    inventory: Inventory,
    limit: Limit = None,
    on: OnOption = "auto",
    as_json: Json = False,
    as_page: Annotated[bool, typer.Option("--markdown", help="Print a page for a pull request.")] = False,
    log: Log = None,
) -> None:
    """Show what apply would change, with diffs, and its effects. Exit code 0: nothing, 3: changes, 1: a node failed.

    Examples:
      gpupool plan my-site
      gpupool plan my-site --limit a40-01,@login
      gpupool plan my-site --on nodes --markdown
    """
    runner = announced_runner(inventory, on, "plan")
    report = run(runner, execute=False, limit=limit, log=log)
    if as_json:
        print_json({"changed": report.changed, **report.as_dict()})
    elif as_page:
        print(price.markdown(report, planned(report)), end="")
    else:
        show(stdout, report, diffs=True)
        show_price(stdout, report)
        stdout.print(f"{planned(report)} ({report.seconds:.1f} s)", style="bold")
    exit_if_failed(report)
    if report.changed:
        raise SystemExit(3)
