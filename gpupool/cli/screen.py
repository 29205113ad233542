"""Shared parts of all commands: consoles, options with the same meaning, and JSON output."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from gpupool.cli import complete
from gpupool.documents.version import FORMAT_VERSION
from gpupool.errors import GpupoolError
from gpupool.terminal import Screen

stdout = Screen()
stderr = Screen(stderr=True)

Inventory = Annotated[
    Path,
    typer.Argument(
        help="Folder of YAML files. Default: the current folder, else GPUPOOL_INVENTORY.",
        metavar="INVENTORY",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Limit = Annotated[
    str | None,
    typer.Option(
        "--limit",
        help="Only these nodes: names, ranges or @roles, as in the inventory.",
        metavar="NODES",
        autocompletion=complete.nodes,
    ),
]
Log = Annotated[
    Path | None, typer.Option("--log", help="Write a log of the run to this file (mode 0600).", metavar="FILE")
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", help="Print each operation on each node, with pyinfra's messages."),
]
With = Annotated[
    Path | None,
    typer.Option("--with", help="What if: a YAML file with changes, merged into the inventory.", metavar="FILE"),
]
OnOption = Annotated[
    str,
    typer.Option(
        "--on",
        envvar="GPUPOOL_ON",
        help="auto: the inventory's testbed on this machine; the nodes if it never had one; else an error.",
        metavar="auto|testbed[:NAME]|nodes",
        autocompletion=complete.on,
    ),
]


def print_json(document: Mapping[str, Any]) -> None:
    """Print the result of a command as one JSON object, with the version of its form (docs/concepts.md)."""
    print(json.dumps({"format_version": FORMAT_VERSION, **document}, indent=2, default=str))


def ensure_confirmable(yes: bool, what: str) -> None:
    """Raise GpupoolError if the command has to ask for confirmation without a terminal."""
    if not yes and not sys.stdin.isatty():
        raise GpupoolError(f"{what}: use --yes, or run it in a terminal to confirm it; nothing was changed")
