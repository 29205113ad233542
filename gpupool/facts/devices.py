"""Character device files: which are there, and which device each of them is."""

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask


class Devices(Look[dict[str, tuple[int, int]]]):
    """Path to (major, minor) of those that are there."""

    def command(self, paths: list[str]) -> StringCommand:
        """Ask for each path."""
        return ask('for path in "$@"; do [ -c "$path" ] && stat -c \'%t %T %n\' -- "$path"; done; true', *paths)

    def read(self, lines: list[str]) -> dict[str, tuple[int, int]]:
        """Read the answer; stat prints both numbers in hexadecimal."""
        rows = [line.split(" ", 2) for line in lines]
        return {path: (int(major, 16), int(minor, 16)) for major, minor, path in rows}
