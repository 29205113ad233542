"""`gpupool render`: every file that a node would get, with no network."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli.screen import Inventory, stdout
from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_for
from gpupool.errors import InventoryError
from gpupool.slurm.accounting import entities

_LARGE = 65536  # characters


def command(
    inventory: Inventory,
    node: Annotated[str | None, typer.Argument(help="One node; else all.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write them below this folder, one a node.")] = None,
) -> None:
    """Print, or write below a folder, every file that nodes would get, and the accounting entities."""
    cluster = load(inventory)
    nodes = _chosen(cluster, node)
    if out is None:
        for it in nodes:
            for file in files_for(cluster, it):
                header = f"{it.name}:{file.path} ({file.owner}:{file.group} {file.mode}, role {file.role})"
                stdout.print(f"==> {header} <==", style="bold", markup=False)
                print(file.text)
        return
    written = 0
    large: dict[str, Path] = {}
    for it in nodes:
        for file in files_for(cluster, it):
            _write(out / it.name / file.path.lstrip("/"), file.text, large)
            written += 1
    _write(out / "accounting.json", json.dumps(entities(cluster), indent=2, sort_keys=True) + "\n", large)
    stdout.print(f"{written} files of {len(nodes)} nodes, and accounting.json, in {out}")


def _chosen(cluster: Cluster, name: str | None) -> list[Node]:
    if name is None:
        return [node for node in cluster.nodes.values() if node.managed]
    if name not in cluster.nodes:
        raise InventoryError(f"there is no node {name} in {cluster.name}; `gpupool check` counts them")
    return [cluster.nodes[name]]


def _write(path: Path, text: str, large: dict[str, Path]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if len(text) > _LARGE and (same := large.setdefault(text, path)) != path:
        # /etc/hosts of ten thousand nodes, ten thousand times, would fill a disk
        with suppress(OSError):
            path.hardlink_to(same)
            return
    path.write_text(text, encoding="utf-8")
