"""What slurmctld wishes of nodes: a file each, which its programs write, and what came of them, which we write."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from gpupool.node import files

_KEPT = ".kept.json"


@dataclass(frozen=True)
class Wish:
    """A node is to be `on` or `off`, since a moment in nanoseconds of 1970, which tells two wishes apart."""

    power: str
    since: int


@dataclass
class Progress:
    """How far the wish of a moment (`since`) is; times are seconds of 1970, 0 for not yet.

    `began` is when its node began to start, `called` when the cloud was told and has not done it yet. A wish to be on
    that `failed` is one to be off.
    """

    since: int
    began: float = 0.0
    called: float = 0.0
    failed: bool = False
    done: bool = False


class Wishes:
    """The folder of the wishes. It is beside slurmctld's state: a backup has it too, and no restart loses it."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def read(self) -> dict[str, Wish]:
        """Return the last wish of each node; none where the folder is not there yet."""
        wishes = {}
        try:
            entries = list(os.scandir(self.folder))
        except FileNotFoundError:
            return {}
        for entry in entries:
            if not entry.name.startswith("."):
                power = Path(entry.path).read_text().strip()
                wishes[entry.name] = Wish(power, entry.stat().st_mtime_ns)
        return wishes

    def progress(self) -> dict[str, Progress]:
        """Return what was kept of each node's wish; nothing where that cannot be read."""
        try:
            return {name: Progress(**fields) for name, fields in json.loads((self.folder / _KEPT).read_text()).items()}
        except (OSError, ValueError, TypeError):
            return {}

    def keep(self, progress: dict[str, Progress]) -> None:
        """Write it down, whole or not at all."""
        files.replace(self.folder / _KEPT, json.dumps({node: asdict(step) for node, step in progress.items()}))
