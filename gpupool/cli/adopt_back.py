"""`gpupool adopt --back`: nodes as they were before gpupool first changed them."""

from pathlib import Path

import typer

from gpupool.cli.running import announced_runner, changes_in, exit_if_failed, has_changes, show
from gpupool.cli.screen import ensure_confirmable, stdout
from gpupool.run.runner import DeployRunner
from gpupool.wording import counted


def restore(inventory: Path, on: str, yes: bool) -> None:
    """Show what the nodes of the inventory had before, ask, and restore it."""
    runner = announced_runner(inventory, on, "adopt --back")
    ensure_confirmable(yes, "adopt --back changes nodes")
    if not yes and not _agreed(runner):
        return
    from gpupool.run.back import back

    report = back(runner, execute=True)
    show(stdout, report, diffs=False)
    nodes, failed = counted(len(report.hosts), "node"), len(report.failures)
    if failed:
        stdout.print(f"{failed} of {nodes} failed; run the same command again to continue", style="bold red")
    else:
        stdout.print(f"{nodes}: as before gpupool ({report.seconds:.1f} s)", style="bold green")
    exit_if_failed(report)


def _agreed(runner: DeployRunner) -> bool:
    from gpupool.run.back import back

    report = back(runner, execute=False)
    return has_changes(report) and typer.confirm(
        f"Restore this on {runner.target.where}? {counted(changes_in(report), 'change')}", err=True
    )
