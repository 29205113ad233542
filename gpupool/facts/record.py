"""The files and links that gpupool has put on a node, from its record, and the current state of these paths."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

#: Written by `operations.files`.
RECORD = "/var/lib/gpupool/files"
_LOOK = shell_file(__package__, "record.sh")


@dataclass(frozen=True)
class Entry(Shown):
    """A path of the record: what gpupool put there, and what is there now (sha256, "-> target", "other" or "").

    `put` is "replaced" if gpupool replaced a file that it had not made.
    """

    path: str
    put: str
    now: str

    @property
    def untouched(self) -> bool:
        """Whether the path is as gpupool put it, and gpupool replaced nothing there."""
        return self.put == self.now


class Unwanted(Fact[list[Entry]]):
    """The entries of the record that are not among the wanted paths."""

    def command(self, wanted: Sequence[str]) -> StringCommand:
        """Ask for all recorded paths except these."""
        return ask(_LOOK, RECORD, "".join(f"|{path}" for path in wanted) + "|")

    def read(self, lines: list[str]) -> list[Entry]:
        """Return an entry for each line."""
        return [Entry(*line.split("\t")) for line in lines]
