"""The apt sources and keys of a node, and those with which its package lists were last updated."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: One line per file, as in `Sources`: the files that gpupool's last `apt-get update` has read.
STAMP = "/var/lib/gpupool/apt-sources"
#: The value for a missing file.
ABSENT = "-"

_LOOK = shell_file(__package__, "sources.sh")


@dataclass(frozen=True)
class SourceState(Shown):
    """The sha256 of files by path: `now` for the current files, `read` when apt last read them."""

    now: dict[str, str] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)


class Sources(Fact[SourceState]):
    """Sources and keys, in one command."""

    def command(self, paths: Sequence[str]) -> StringCommand:
        """Ask for all files in one command."""
        return ask(_LOOK, STAMP, *paths)

    def read(self, lines: list[str]) -> SourceState:
        """Read the answer."""
        sums: dict[str, dict[str, str]] = {"F": {}, "S": {}}
        for kind, sha256, path in (line.split("\t") for line in lines):
            sums[kind][path] = sha256
        return SourceState(sums["F"], sums["S"])
