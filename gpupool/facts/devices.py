"""Character device files: which are there, and which device each of them is."""

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole


class Devices(FactBase[dict[str, tuple[int, int]] | None]):
    """Path to (major, minor) of those that are there. None when the node did not answer."""

    def command(self, paths: list[str]) -> StringCommand:
        """Ask for each path."""
        return ask('for path in "$@"; do [ -c "$path" ] && stat -c \'%t %T %n\' -- "$path"; done; true', *paths)

    def process(self, output: list[str]) -> dict[str, tuple[int, int]] | None:
        """Read the answer; stat prints both numbers in hexadecimal."""
        lines = whole(output)
        if lines is None:
            return None
        words = [line.split(" ", 2) for line in lines]
        return {path: (int(major, 16), int(minor, 16)) for major, minor, path in words}
