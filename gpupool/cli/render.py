"""`gpupool render`: print all files that nodes would get, without a network."""

from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.screen import Inventory


def command(
    inventory: Inventory,
    node: Annotated[
        str | None,
        typer.Argument(
            help="One node; default: all.", metavar="NODE", show_default=False, autocompletion=complete.node
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file", metavar="NAME", help="Only files with this name or path, including programs; * matches any text."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write the files with their modes to this folder, in one subfolder per node.", metavar="DIR"
        ),
    ] = None,
) -> None:
    """Print all files that gpupool would write, Slurm's first, and the accounting entities.

    A file that several nodes get is printed once. Programs of gpupool are listed by name and size. With --out, write
    everything to a folder instead.

    Changes: nothing.

    Examples:
      gpupool render my-site
      gpupool render my-site control --file slurm.conf
      gpupool render my-site --out /tmp/files
    """
    from gpupool.cli.rendered import render

    render(inventory, node, file, out)
