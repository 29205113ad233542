"""`gpupool rehearse`: the promises of an inventory, tested at full size on a twin."""

from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli.screen import Inventory, Json, With, print_json, stderr, stdout
from gpupool.engine.progress import shown
from gpupool.errors import StoppedError
from gpupool.slurm.releases import Supported


def command(
    inventory: Inventory,
    change: With = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write index.html and rehearsal.json to this folder.", metavar="DIR"),
    ] = None,
    as_json: Json = False,
    slurm: Annotated[
        Supported | None, typer.Option("--slurm", help="Slurm version to use instead of the inventory's.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Only these promises, by their keys.", metavar="PROMISE,…")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the twin running afterwards, to inspect it.")] = False,
) -> None:
    """Test the promises with real jobs on a twin of the whole cluster. Exit code 1 if a promise is broken."""
    from gpupool.rehearsal.report import files, table
    from gpupool.rehearsal.whole import rehearsed, request

    wish = request(inventory, change, slurm, only, keep)
    if report is not None:
        files.ensure_writable(report)
    try:
        with shown(stderr) as progress:
            done = rehearsed(wish, progress)
    except KeyboardInterrupt:
        left = "the twin may still be running" if keep else "the twin was removed"
        raise StoppedError(f"interrupted: {left}, no report was written") from None
    if report is not None:
        files.write(report, done)
        stderr.print(f"the report is {report / 'index.html'}")
    if as_json:
        print_json(done.as_dict())
    else:
        table.show(stdout, done)
    if done.worst == "broken":
        raise SystemExit(1)
