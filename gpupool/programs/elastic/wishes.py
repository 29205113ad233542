"""Wishes: slurmctld's last power request for each node, one file each; and their progress, in a file of this service.

slurmctld's ResumeProgram and SuspendProgram write the wishes.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from gpupool.node import files

_KEPT = ".kept.json"


@dataclass(frozen=True)
class Wish:
    """A node must be `on` or `off`; `since` is the time of the request in nanoseconds since 1970, and identifies it."""

    power: str
    since: int


@dataclass
class Progress:
    """The progress of the wish with the same `since`; other times are seconds since 1970, or 0.

    `began`: the node began to start. `called`: the last call of the cloud that has had no effect yet. If a wish for
    `on` has `failed`, the node is switched off.
    """

    since: int
    began: float = 0.0
    called: float = 0.0
    failed: bool = False
    done: bool = False


class Wishes:
    """The folder of the wishes, inside slurmctld's state: a backup controller has it, too, and restarts keep it."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def read(self) -> dict[str, Wish]:
        """Return the last wish of each node; none if the folder does not exist yet."""
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
        """Return the saved progress of each node's wish; nothing if the file cannot be read."""
        try:
            return {name: Progress(**fields) for name, fields in json.loads((self.folder / _KEPT).read_text()).items()}
        except (OSError, ValueError, TypeError):
            return {}

    def keep(self, progress: dict[str, Progress]) -> None:
        """Save the progress atomically."""
        files.replace(self.folder / _KEPT, json.dumps({node: asdict(step) for node, step in progress.items()}))
