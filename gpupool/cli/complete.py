"""What a shell offers while a command is typed: nodes of the inventory that the line names already."""

from pathlib import Path

import typer

from gpupool.errors import GpupoolError


def node(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the nodes whose names begin so; none where the line has no inventory yet, or one with errors."""
    # typer waits for each key: only who asks for nodes waits for an inventory
    from gpupool.cluster.load import load

    # behind an option that still lacks its value the parser leaves all positional words in args
    arguments = [ctx.params.get("inventory"), *ctx.args]
    inventory = next(filter(None, arguments), None)
    if inventory is None:
        return []
    try:
        cluster = load(Path(inventory))
    except (OSError, GpupoolError):
        return []
    return [name for name in cluster.nodes if name.startswith(incomplete)]


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return what completes the last of several nodes, each with those before it: `a40-01,a40-02`."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in node(ctx, last)]


def on(incomplete: str) -> list[str]:
    """Return what `--on` may be."""
    return [word for word in ("auto", "testbed", "nodes") if word.startswith(incomplete)]
