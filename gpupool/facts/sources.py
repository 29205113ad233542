"""Which of apt's sources and keys a node has, and with which of them its package lists were last read."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

#: One line a file, as in `Sources`: those that our last `apt-get update` has read.
STAMP = "/var/lib/gpupool/apt-sources"
#: What is said of a file that is not there.
ABSENT = "-"

_LOOK = shell_file(__package__, "sources.sh")


@dataclass(frozen=True)
class SourceState:
    """By path the sha256 of the files that are there now, and of those that apt has read."""

    now: dict[str, str] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)


class Sources(Look[SourceState]):
    """Sources and keys, in one command."""

    def command(self, paths: Sequence[str]) -> StringCommand:
        """Ask for all files at once."""
        return ask(_LOOK, STAMP, *paths)

    def read(self, lines: list[str]) -> SourceState:
        """Read the answer."""
        sums: dict[str, dict[str, str]] = {"F": {}, "S": {}}
        for kind, sha256, path in (line.split("\t") for line in lines):
            sums[kind][path] = sha256
        return SourceState(sums["F"], sums["S"])
