"""What a shell offers while a command is typed: nodes of the inventory that the line names already."""

import re
from pathlib import Path

import typer

# of a whole inventory, which a shell would wait for at each key, the entries of nodes are enough
_NODES = re.compile(r"^([\"']?)nodes\1\s*:", re.MULTILINE)


def node(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the nodes whose names begin so; none where the line has no inventory yet, or its nodes cannot be read."""
    # behind an option that still lacks its value the parser leaves all positional words in args
    arguments = [ctx.params.get("inventory"), *ctx.args]
    inventory = next(filter(None, arguments), None)
    if inventory is None:
        return []
    return [name for name in _names(Path(inventory)) if name.startswith(incomplete)]


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return what completes the last of several nodes, each with those before it: `a40-01,a40-02`."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in node(ctx, last)]


def on(incomplete: str) -> list[str]:
    """Return what `--on` may be."""
    return [word for word in ("auto", "testbed", "nodes") if word.startswith(incomplete)]


def _names(inventory: Path) -> list[str]:
    """Return the names of all nodes of an inventory; an entry that is no node, or no range of nodes, has none."""
    from gpupool.cluster.node_table import expand
    from gpupool.cluster.text import files_of, read

    try:
        files = [file for file in files_of(inventory) if _NODES.search(file.read_text(encoding="utf-8"))]
        entries = [entry for file in files for entry in read(file).data.get("nodes") or ()]
        return [name for entry in entries for name in expand(entry["name"])]
    except (OSError, ValueError, TypeError, KeyError):
        return []
