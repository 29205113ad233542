"""The result of a check of files that are not on the node yet."""

import base64
import gzip
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "trial.sh")
_SUFFIX = ".gpupool-try"
_LIMIT = 180  # seconds; slurmctld is started twice, each time for at most 60 s
_MOST = 90 * 1024  # bytes of all texts; the whole command has at most 128 KiB


@dataclass(frozen=True)
class Tried(Shown):
    """`refused` is the check's message, "" if it accepts the files. Not `tried`: the node could not run the check."""

    refused: str = ""
    tried: bool = True


class Trial(Fact[Tried]):
    """The result of a check (the words `sh -c SCRIPT NAME ARGUMENT`) of new `texts`, by path; all in one folder."""

    def command(self, check: list[str], texts: Mapping[str, str]) -> StringCommand:
        """Ask for the trial of files that `fits` accepts; the node's own files are not changed."""
        *_, script, _, argument = check
        files = [word for path, text in texts.items() for word in (posixpath.basename(path), packed(text))]
        return ask(_LOOK, posixpath.dirname(next(iter(texts))), _SUFFIX, script, argument, *files, limit=_LIMIT)

    def read(self, lines: list[str]) -> Tried:
        """Read the answer."""
        rows = [line.split("\t", 1) for line in lines]
        refused = next((row[1] for row in rows if row[0] == "refused"), "")
        return Tried(refused, ["untried"] not in rows)


def fits(texts: Mapping[str, str]) -> bool:
    """Return whether these files, by path, can be tried: they are in one folder, and not too large for one command."""
    return len({posixpath.dirname(path) for path in texts}) == 1 and small(texts)


def small(texts: Mapping[str, str]) -> bool:
    """Return whether these files, by path, are not too large for one command."""
    return sum(len(packed(text)) for text in texts.values()) <= _MOST


def packed(text: str) -> str:
    """Return a text as one short word of a command, for `base64 -d | gzip -d`."""
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
