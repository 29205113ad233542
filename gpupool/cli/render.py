"""`gpupool render`: every file that a node would get, with no network."""

from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.screen import Inventory


def command(
    inventory: Inventory,
    node: Annotated[
        str | None, typer.Argument(help="One node; default: all.", show_default=False, autocompletion=complete.node)
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", metavar="NAME", help="Only files with this name or path, programs too; * matches any text."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the files with their modes here, in one subfolder per node."),
    ] = None,
) -> None:
    """Print every file that gpupool would write, each once and Slurm's first, and the accounting entities.

    Programs of gpupool are listed by name and size. With --out, write everything to a folder instead.
    """
    from gpupool.cli.rendered import render

    render(inventory, node, file, out)
