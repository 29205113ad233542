"""The contents of the disk-usage.txt files of a node."""

import json
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shown import Shown

_LOOK = """
if [ -r "$2" ]; then PYTHONPATH=$1 python3 -P -B -m usage report "$2" || :; else echo '{"absent": true}'; fi
"""
# seconds; the program skips trees that do not answer, so this limit is for a file system that fails meanwhile
_PATIENCE = 120


@dataclass(frozen=True)
class UsedDirectory(Shown):
    """One directory: `top` and `path` below it on that node, its size in KiB, the time of the count, and its owner."""

    top: str
    path: str
    kib: int
    updated: str
    owner: str


@dataclass(frozen=True)
class LeftDirectory(Shown):
    """One directory without a file after the last count: `path` below `top` ("" for all of it), its owner, and why."""

    top: str
    path: str
    owner: str
    why: str


@dataclass(frozen=True)
class UsageState(Shown):
    """The usage of a node: directories, the number without a report by `top`, and why a `top` could not be read.

    `absent`: the program is not installed. `left`: directories without a file after the last count.
    """

    directories: tuple[UsedDirectory, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)
    trouble: dict[str, str] = field(default_factory=dict)
    absent: bool = False
    left: tuple[LeftDirectory, ...] = ()


class Usage(Fact[UsageState]):
    """The report of the usage program in `home` with its `settings`."""

    def command(self, home: str, settings: str) -> StringCommand:
        """Ask for all trees in one command."""
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
