"""`gpupool retire`: remove nodes from the cluster."""

from typing import Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.edit import confirm, runner_and_original, show_draft, show_rest
from gpupool.cli.screen import Inventory, Json, OnOption, Verbose, print_json, stderr, stdout
from gpupool.cli.watch import Watch
from gpupool.documents.nodes import RetireDocument
from gpupool.run.runner import DeployRunner
from gpupool.terminal import styled

Nodes = Annotated[
    str,
    typer.Argument(
        help="Nodes to remove: names, ranges or @roles, as in the inventory.",
        metavar="NODES",
        autocompletion=complete.nodes,
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before changing nodes.")]


def command(
    inventory: Inventory,
    nodes: Nodes,
    yes: Yes = False,
    on: OnOption = "auto",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Remove nodes from the cluster: drain them, wait for their jobs, and take them out of Slurm and the inventory.

    Compute nodes only: slurmd and munge stop there, and gpupool's files are removed.
    Exit code 1 if a node cannot be removed. After Ctrl-C, run the same command again to continue.

    Changes: these nodes, slurm.conf, and the inventory.

    Examples:
      gpupool retire my-site a40-01
      gpupool retire my-site rtx-[01-02] --on testbed
    """
    DeployRunner.load()
    from gpupool.joining.retire import Retirement, prepare
    from gpupool.remote.controller import reach

    runner, original = runner_and_original(inventory, on, "retire", verbose=verbose)
    leaving = prepare(runner.target, original, nodes, on=on)
    show_draft(leaving.draft)
    names = ", ".join(node.name for node in leaving.nodes)
    confirm(f"Drain {names}, wait for all jobs there, and remove {names} from the cluster?", yes)
    with reach(runner.target) as controller:
        done = Retirement(controller, runner, Watch(stderr), leaving).run()
    if as_json:
        print_json(RetireDocument({
            "retired": list(done.names),
            "commands": dict(done.commands),
            "left": dict(done.left),
            "later": dict(done.later),
        }))  # fmt: skip
        return
    for name, why in done.left.items():
        stdout.print(styled((name, "yellow"), ": ", why))
    stdout.print(f"{', '.join(done.names)}: no longer in the cluster", style="bold green")
    show_rest(done.commands, done.later)
