"""Character device files: which exist, and the device of each."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask


class Devices(Fact[dict[str, tuple[int, int]]]):
    """The numbers (major, minor) of the device files that exist, by path."""

    def command(self, paths: list[str]) -> StringCommand:
        """Ask for each path."""
        return ask('for path in "$@"; do [ -c "$path" ] && stat -c \'%t %T %n\' -- "$path"; done; true', *paths)

    def read(self, lines: list[str]) -> dict[str, tuple[int, int]]:
        """Read the answer; stat prints both numbers in hexadecimal."""
        rows = [line.split(" ", 2) for line in lines]
        return {path: (int(major, 16), int(minor, 16)) for major, minor, path in rows}
