"""`gpupool upgrade`: install another release of Slurm on all nodes, in Slurm's order."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.running import announced_runner, passed_over
from gpupool.cli.screen import Inventory, OnOption, Verbose, ensure_confirmable, stderr, stdout
from gpupool.cli.verify import checked, show_failures
from gpupool.cli.watch import Watch
from gpupool.target import Target
from gpupool.terminal import styled
from gpupool.wording import changed, counted, shortened

if TYPE_CHECKING:
    from gpupool.cluster.model import Cluster
    from gpupool.upgrade.prepare import Prepared


def command(
    inventory: Inventory,
    at_most: Annotated[
        int,
        typer.Option(
            "--at-most", min=1, metavar="COUNT", help="Maximum compute nodes upgraded at once; the first is done alone."
        ),
    ] = 4,
    drill: Annotated[
        bool,
        typer.Option("--drill", help="Before the upgrade, test it with a backup on this machine; stop if that fails."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Begin without showing the plan and asking first.")] = False,
    on: OnOption = "auto",
    verbose: Verbose = False,
) -> None:
    """Upgrade Slurm on all nodes to slurm.version, in Slurm's order, while jobs run; then apply and verify.

    If slurmdbd cannot convert its database, it gets its former packages and database back. After Ctrl-C, run the same
    command again to continue. Exit code 1 if a node is not upgraded.

    Changes: Slurm's packages and files on all nodes, and slurmdbd's database.

    Examples:
      gpupool upgrade my-site --drill
      gpupool upgrade my-site --at-most 8
    """
    from gpupool.upgrade.order import ensure_upgradable

    runner = announced_runner(inventory, on, "upgrade", verbose=verbose)
    ensure_upgradable(runner.target.cluster)
    if drill:
        from gpupool.rehearsal.twin.image import runnable

        runnable(runner.target.cluster.slurm.version)
    ensure_confirmable(yes, "upgrade changes nodes")
    runner.load()
    from gpupool.upgrade.prepare import prepare
    from gpupool.upgrade.run import Upgrade
    from gpupool.upkeep.controllers import locked_controllers

    release = runner.target.cluster.slurm.version
    with locked_controllers(runner) as (controller, hold):
        ready = prepare(controller, runner)
        if not ready.report.changed:
            what = "nothing to upgrade"
        else:
            nodes = counted(len(ready.todo), "node")
            _show(runner.target.cluster, ready, at_most)
            if not yes and not typer.confirm(f"Upgrade {nodes} to {release}?", err=True):
                return
            try:
                Upgrade(controller, runner, hold, Watch(stderr), ready).run(at_most, drill=drill)
            except KeyboardInterrupt:
                stderr.print(
                    "stopped: jobs keep running, but nodes may stay drained and daemons stopped; "
                    "run the same command again",
                    style="yellow",
                )
                raise
            what = f"{nodes} upgraded to Slurm {release}"
    _end(runner.target, ready, what)


def _show(cluster: "Cluster", ready: "Prepared", at_most: int) -> None:
    """Print the changes with their nodes, and the order of the stages."""
    from gpupool.upgrade.order import FETCH, stages
    from gpupool.upkeep.drain import jobs_in_brief

    for change, names in ready.report.grouped.items():
        if change.step != FETCH:
            words = " ".join((changed(change) or "").split())
            stderr.print(styled((shortened(names), "bold"), f": {change.name}{f': {words}' if words else ''}"))
    if ready.older:
        release = cluster.slurm.version
        stderr.print(f"first it waits for jobs of an older release, whose steps Slurm {release} does not read:")
        for name, jobs in ready.older.items():
            stderr.print(styled((f"  {name}", "bold"), f": {jobs_in_brief(jobs)}"))
        stderr.print("to wait no longer, requeue or cancel them: scontrol requeue JOB")
    stderr.print("in this order, while jobs run; no job is ended:")
    for stage in stages(cluster, ready.todo):
        some = shortened(node.name for node in stage.nodes)
        more = f" ({at_most} at once; the first alone; no new jobs meanwhile)" if stage.kind == "compute nodes" else ""
        stderr.print(styled((f"  {stage.kind}", "bold"), f": {some}{more}"))


def _end(target: Target, ready: "Prepared", what: str) -> None:
    """Verify the nodes, and print a summary."""
    outcomes = checked(target, set(ready.reached))
    failed = show_failures(outcomes)
    for name in ready.lost:
        stdout.print(styled((name, "red"), ": cannot be reached: run the same command again when it is back"))
    checks = counted(len(outcomes), "check")
    checks = f"{failed} of {checks} failed" if failed else f"{checks} pass"
    bad = bool(failed or ready.lost)
    style = "bold red" if bad else "bold green"
    stdout.print(f"{what}; {checks}{passed_over(ready.report.asleep)}", style=style)
    if bad:
        raise SystemExit(1)
