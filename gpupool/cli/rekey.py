"""`gpupool rekey`: replace the munge key of the cluster while jobs run."""

from typing import Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.running import announced_runner
from gpupool.cli.screen import Inventory, OnOption, Verbose, ensure_confirmable, stderr, stdout
from gpupool.cli.watch import Watch
from gpupool.terminal import styled
from gpupool.wording import counted

Without = Annotated[
    str | None,
    typer.Option(
        "--without",
        help="Leave out these nodes, and drain the compute nodes among them; Slurm ends their jobs some minutes later.",
        autocompletion=complete.nodes,
        metavar="NODES",
    ),
]


def command(
    inventory: Inventory,
    without: Without = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Replace the key without asking first.")] = False,
    on: OnOption = "auto",
    verbose: Verbose = False,
) -> None:
    """Replace the munge key on all nodes, while jobs run. Exit code 1 if a node did not get it.

    slurmctld stops for a few seconds: jobs and commands of users wait for it. After Ctrl-C, run the same command again.

    Changes: munge.key on all nodes, and the daemons that read it.

    Examples:
      gpupool rekey my-site
      gpupool rekey my-site --without a40-01
    """
    runner = announced_runner(inventory, on, "rekey", verbose=verbose)
    ensure_confirmable(yes, "rekey stops slurmctld for a few seconds")
    runner.load()
    from gpupool.upkeep.controllers import locked_controllers
    from gpupool.upkeep.rekey import Replacement, prepare

    with locked_controllers(runner) as (controller, hold):
        plan = prepare(runner, without)
        left = ", ".join(node.name for node in plan.left_out)
        if left:
            stderr.print(styled((left, "yellow"), ": left out; Slurm no longer reaches these nodes and their jobs"))
        nodes = counted(len(plan.names), "node")
        if not yes and not typer.confirm(f"Replace the munge key on {nodes}?", err=True):
            return
        try:
            Replacement(controller, runner, hold, Watch(stderr), plan).run()
        except KeyboardInterrupt:
            stderr.print(
                "stopped: jobs keep running, but slurmctld may be stopped; run the same command again", style="yellow"
            )
            raise
    rest = f"; {left}: old key, drained until an apply and a resume" if left else ""
    stdout.print(f"{nodes} have a new munge key{rest}", style="bold green")
