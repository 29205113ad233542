"""`gpupool render`: every file that a node would get, with no network."""

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.screen import Inventory, stdout
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster, Node
from gpupool.compile import FILES, files_for, files_of
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.slurm.names import folded
from gpupool.errors import GpupoolError, UsageError
from gpupool.wanted import File

_LARGE = 65536  # characters


def command(
    inventory: Inventory,
    node: Annotated[
        str | None, typer.Argument(help="One node; default: all.", show_default=False, autocompletion=complete.node)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the files to this folder, in one subfolder per node.")
    ] = None,
) -> None:
    """Print every file that gpupool would write, and the accounting entities. Identical files are printed once.

    With --out, write them to a folder instead.
    """
    cluster = load(inventory)
    nodes = _chosen(cluster, node)
    accounting = json.dumps(entities(cluster), indent=2, sort_keys=True) + "\n"
    if out is None:
        whose: dict[tuple[str, File], list[str]] = {}
        for each in nodes:
            for role in FILES:
                for file in files_of(cluster, each, role):
                    whose.setdefault((role, file), []).append(each.name)
        hostlist = cache(folded)
        for (role, file), names in whose.items():
            rights = f"({file.owner}:{file.group} {file.mode}, role {role})"
            print(_bold(f"==> {hostlist(tuple(names))}:{file.path} {rights} <=="), file.text, sep="\n")
        if node is None or cluster.nodes[node].has("database"):
            stdout.print("==> slurmdbd: QoS, accounts, users and their limits (role accounts) <==", style="bold")
            print(accounting)
        return
    written = 0
    large: dict[str, Path] = {}
    for each in nodes:
        for file in files_for(cluster, each):
            _write(out / each.name / file.path.lstrip("/"), file.text, large)
            written += 1
    _write(out / "accounting.json", accounting, large)
    stdout.print(f"{written} files of {len(nodes)} nodes, and accounting.json, in {out}")


def _bold(line: str) -> str:
    # rich takes seconds for the headers of ten thousand nodes
    return f"\033[1m{line}\033[0m" if stdout.is_terminal and not stdout.no_color else line


def _chosen(cluster: Cluster, name: str | None) -> list[Node]:
    if name is None:
        return [node for node in cluster.nodes.values() if node.managed]
    if name not in cluster.nodes:
        raise UsageError(f"there is no node {name} in {cluster.name}; see `gpupool check`")
    return [cluster.nodes[name]]


def _write(path: Path, text: str, large: dict[str, Path]) -> None:
    try:
        _put(path, text, large)
    except OSError as error:  # of a full disk Python does not say which file
        raise GpupoolError(f"{error.filename or path}: {error.strerror}") from None


def _put(path: Path, text: str, large: dict[str, Path]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if len(text) > _LARGE and (same := large.setdefault(text, path)) != path:
        # /etc/hosts of ten thousand nodes, ten thousand times, would fill a disk
        with suppress(OSError):
            path.hardlink_to(same)
            return
    path.write_text(text, encoding="utf-8")
