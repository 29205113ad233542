"""What the disk-usage.txt files of a node say."""

import json
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask

# the program looks only at trees whose file system answers; the limit is for one that stops to meanwhile
_LOOK = """
if [ -r "$2" ]; then PYTHONPATH=$1 python3 -P -B -m usage report "$2" || :; else echo '{"absent": true}'; fi
"""
_PATIENCE = 120


@dataclass(frozen=True)
class UsedDirectory:
    """One directory: `top` and `path` below it on that node, KiB, when that was counted, and who owns it."""

    top: str
    path: str
    kib: int
    updated: str
    owner: str


@dataclass(frozen=True)
class LeftDirectory:
    """One directory that the last count gave no file, `path` below `top` ("" for all of it): who owns it, and why."""

    top: str
    path: str
    owner: str
    why: str


@dataclass(frozen=True)
class UsageState:
    """All of a node: directories, how many have no report yet by `top`, and why some tops could not be read.

    `absent`: nothing counts there, or not yet. `left`: those that the last count gave no file.
    """

    directories: tuple[UsedDirectory, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)
    trouble: dict[str, str] = field(default_factory=dict)
    absent: bool = False
    left: tuple[LeftDirectory, ...] = ()


class Usage(Look[UsageState]):
    """What the program in `home` says with its `settings`."""

    def command(self, home: str, settings: str) -> StringCommand:
        """Ask for all trees at once."""
        return ask(_LOOK, home, settings, limit=_PATIENCE)

    def read(self, lines: list[str]) -> UsageState:
        """Read the answer."""
        directories: list[UsedDirectory] = []
        left: list[LeftDirectory] = []
        missing: dict[str, int] = {}
        trouble: dict[str, str] = {}
        for entry in map(json.loads, lines):
            if "absent" in entry:
                return UsageState(absent=True)
            if "missing" in entry:
                missing[entry["top"]] = entry["missing"]
            elif "trouble" in entry:
                trouble[entry["top"]] = entry["trouble"]
            elif "why" in entry:
                left.append(LeftDirectory(**entry))
            else:
                directories.append(UsedDirectory(**entry))
        return UsageState(tuple(directories), missing, trouble, left=tuple(left))
