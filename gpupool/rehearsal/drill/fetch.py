"""The newest backups of a cluster, copied into a private folder without writing on a node."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpupool.compile.system.backup import COMMAND
from gpupool.errors import GpupoolError
from gpupool.remote.nodes import Nodes

LOOK_SECONDS = 300.0  # for a command
_FETCH_SECONDS = 7200.0  # for a file


@dataclass(frozen=True)
class Fetched:
    """A copy of a backup: its file name, its path here, the backup's Unix time (`made`), and its size in bytes."""

    name: str
    path: Path
    made: int
    size: int


def backups(nodes: Nodes, node: str) -> Mapping[str, list[dict[str, Any]]]:
    """Return the backups on a node, by kind, newest first."""
    listed: dict[str, Any] = json.loads(nodes.output_on(node, COMMAND, "list", seconds=LOOK_SECONDS))
    return {kind: answer["backups"] for kind, answer in listed.items()}


def newest(nodes: Nodes, folder: Path, node: str, kind: str, name: str = "") -> Fetched:
    """Fetch the newest backup of a kind, or the backup with this name, into a folder.

    GpupoolError if there is none, or its checksum is wrong.
    """
    listed = [backup for backup in backups(nodes, node).get(kind, []) if not name or Path(backup["path"]).name == name]
    if not listed:
        raise GpupoolError(f"{node}: there is no backup{f' {name}' if name else ''} of the {kind}: run {COMMAND} make")
    path = listed[0]["path"]
    copy = folder / Path(path).name
    sums = nodes.output_on(node, "cat", "--", f"{path}.sha256", seconds=LOOK_SECONDS).split()
    nodes.fetch(node, path, copy, seconds=_FETCH_SECONDS)
    sha = hashlib.sha256()
    with copy.open("rb") as file:
        while block := file.read(1 << 20):
            sha.update(block)
    if sums[:1] != [sha.hexdigest()]:
        raise GpupoolError(f"{node}: {path}: its checksum is wrong: this backup is damaged")
    return Fetched(copy.name, copy, listed[0]["made"], copy.stat().st_size)


def when(made: int) -> str:
    """Return a Unix time as text: `2026-11-23 18:00 UTC`."""
    return datetime.fromtimestamp(made, UTC).strftime("%Y-%m-%d %H:%M UTC")
