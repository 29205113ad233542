"""The files and links that gpupool has put on a node, as it recorded them, and what is at these paths now."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand
from pyinfra.api.facts import FactBase

from gpupool.facts.script import ask, whole
from gpupool.shell import shell_file

#: Written by `operations.files`.
RECORD = "/var/lib/gpupool/files"
_LOOK = shell_file(__package__, "record.sh")


@dataclass(frozen=True)
class Entry:
    """A path of the record: what gpupool put there, and what is there now (sha256, "-> target", "other", or "").

    `put` is "replaced" where something else was there before gpupool came.
    """

    path: str
    put: str
    now: str

    @property
    def untouched(self) -> bool:
        """Whether it is still what gpupool put there, and nothing else was there before."""
        return self.put == self.now


class Unwanted(FactBase[list[Entry] | None]):
    """The entries of the record that are not among the wanted paths; None when the node's answer was cut short."""

    def command(self, wanted: Sequence[str]) -> StringCommand:
        """Ask for all but these paths."""
        return ask(_LOOK, RECORD, "".join(f"|{path}" for path in wanted) + "|")

    def process(self, output: list[str]) -> list[Entry] | None:
        """Read the answer."""
        lines = whole(output)
        return None if lines is None else [Entry(*line.split("\t")) for line in lines]
