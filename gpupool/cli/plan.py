"""`gpupool plan`: what apply would change, and nothing is changed."""

from gpupool.cli.running import announced_target, end_badly, planned, run, show
from gpupool.cli.screen import Inventory, Json, Limit, Log, OnOption, print_json, stdout


def command(
    inventory: Inventory, limit: Limit = None, on: OnOption = "auto", as_json: Json = False, log: Log = None
) -> None:
    """Show what apply would change, with diffs. Exit code 0: nothing, 3: changes, 1: a node failed or would refuse."""
    target = announced_target(inventory, on)
    report = run(target, execute=False, limit=limit, log=log)
    if as_json:
        print_json({"changed": report.changed, **report.as_dict()})
    else:
        show(stdout, report, diffs=True)
        stdout.print(f"{planned(report)} ({report.seconds:.1f} s)", style="bold")
    end_badly(report)
    if report.changed:
        raise SystemExit(3)
