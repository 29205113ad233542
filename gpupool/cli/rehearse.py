"""`gpupool rehearse`: the promises of an inventory, tested at full size on a twin."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.screen import Inventory, Json, With, print_json, stderr, stdout
from gpupool.documents.rehearsal import PromisesDocument
from gpupool.engine.progress import shown
from gpupool.errors import StoppedError
from gpupool.slurm.releases import Tested
from gpupool.terminal import styled

if TYPE_CHECKING:
    from gpupool.rehearsal.whole import Request


def command(
    inventory: Inventory,
    change: With = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write index.html and rehearsal.json to this folder.", metavar="DIR"),
    ] = None,
    as_json: Json = False,
    slurm: Annotated[
        Tested | None, typer.Option("--slurm", help="Slurm version to use instead of the inventory's.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", help="Only these promises, by their keys, which --list shows.", metavar="PROMISE,…"),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the promises with their keys, and test none.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the twin running afterwards, to inspect it.")] = False,
) -> None:
    """Test in Docker, with real jobs, that each lab gets what the inventory grants. Exit code 1 if a promise is broken.

    A promise is what the inventory grants, such as a lab's GPUs when others borrow them. The twin runs in Docker on
    this machine; the cluster itself is not contacted.

    Changes: nothing; its containers are removed.

    Examples:
      gpupool rehearse my-site --report report
      gpupool rehearse my-site --list
      gpupool rehearse my-site --only cap,owned --with new-lab.yml
    """
    from gpupool.rehearsal.report import files, table
    from gpupool.rehearsal.whole import rehearsed, request

    wish = request(inventory, change, slurm, only, keep)
    if listed:
        _list(wish, as_json)
        return
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


def _list(wish: "Request", as_json: bool) -> None:
    """Print the requested promises with their keys; for a promise that the inventory does not make, also the reason."""
    from gpupool.rehearsal.expected import Expected

    expected = Expected(wish.cluster)
    rows = [(promise.key, promise.text, promise.not_made_because(expected)) for promise in wish.promises]
    if as_json:
        print_json(PromisesDocument({
            "promises": [{"key": key, "promise": text, "not_made_because": why} for key, text, why in rows]
        }))  # fmt: skip
        return
    width = max(len(key) for key, _, _ in rows)
    for key, text, why in rows:
        stdout.print(styled((f"{key:<{width}}", "bold"), f"  {text}", (f" (not made: {why})" if why else "", "dim")))
