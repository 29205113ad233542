"""Completions of a shell: the nodes of the inventory that the command line names."""

import re
from pathlib import Path

import typer

from gpupool.errors import GpupoolError

# the shell waits for a completion, so only files with the key `nodes` are read
_NODES = re.compile(r"^([\"']?)nodes\1\s*:", re.MULTILINE)


def node(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the nodes whose names begin with a text; none if there is no inventory, or its nodes cannot be read."""
    # after an option without its value, the parser leaves all positional words in args
    arguments = [ctx.params.get("inventory"), *ctx.args]
    inventory = next(filter(None, arguments), None)
    return [name for name in _names(inventory) if name.startswith(incomplete)]


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return completions of the last node in a list, each with the nodes before it: `a40-01,a40-02`."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in node(ctx, last)]


def on(incomplete: str) -> list[str]:
    """Return the values of `--on`."""
    return [word for word in ("auto", "testbed", "nodes") if word.startswith(incomplete)]


def _names(named: str | None) -> list[str]:
    """Return the names of all nodes of an inventory, None for the default; invalid entries are left out."""
    from gpupool.cli.default_inventory import default_inventory
    from gpupool.cluster.node_table import expand
    from gpupool.cluster.text import files_of, read

    try:
        inventory = Path(named) if named else default_inventory()
        if inventory is None:
            return []
        files = [file for file in files_of(inventory) if _NODES.search(file.read_text(encoding="utf-8"))]
        entries = [entry for file in files for entry in read(file).data.get("nodes") or ()]
        return [name for entry in entries for name in expand(entry["name"])]
    except (GpupoolError, OSError, ValueError, TypeError, KeyError):
        return []
