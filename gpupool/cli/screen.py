"""What all commands share of the screen: consoles, options that mean the same everywhere, JSON."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from gpupool.cli import complete
from gpupool.shown import Screen

stdout = Screen()
stderr = Screen(stderr=True)

Inventory = Annotated[
    Path, typer.Argument(help="A folder of YAML files, such as inventory/skynet.", show_default=False)
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Limit = Annotated[
    str | None,
    typer.Option(
        "--limit", help="Only these nodes: names, ranges, @roles, as in the inventory.", autocompletion=complete.nodes
    ),
]
Log = Annotated[Path | None, typer.Option("--log", help="Write what happens on the nodes to this file (mode 0600).")]
With = Annotated[
    Path | None,
    typer.Option(
        "--with", help="What if: a YAML file of the inventory's own shape that is laid over it.", metavar="FILE"
    ),
]
OnOption = Annotated[
    str,
    typer.Option(
        "--on",
        help="auto: the testbed of this inventory while one stands here, else its nodes.",
        metavar="auto|testbed[:NAME]|nodes",
        autocompletion=complete.on,
    ),
]


def print_json(data: Any) -> None:
    """Print one JSON document to standard output."""
    print(json.dumps(data, indent=2, default=str))
