"""Settings of our files that another file overrides, because its daemon reads that file later."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "overrides.sh")


@dataclass(frozen=True)
class Override(Shown):
    """A key of our file, as "SECTION KEY", its values there and in force, and the other files with the key in order."""

    path: str
    key: str
    wanted: str
    now: str
    files: tuple[str, ...]


class LaterFiles(Fact[list[Override]]):
    """The overridden settings of units, drop-ins and settings of systemd, MariaDB and sssd among `paths`."""

    def command(self, paths: Sequence[str]) -> StringCommand:
        """Ask for all files in one command."""
        return ask(_LOOK, *paths)

    def read(self, lines: list[str]) -> list[Override]:
        """Read the answer."""
        values: dict[tuple[str, str], dict[str, list[str]]] = {}
        for line in lines:
            kind, path, key, value = line.split("\t", 3)
            values.setdefault((path, key), {}).setdefault(kind, []).append(value)
        return [
            Override(path, key, found["wanted"][0], found["now"][0], tuple(found["file"]))
            for (path, key), found in values.items()
        ]
