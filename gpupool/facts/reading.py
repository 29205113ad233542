"""The texts of a unit's files: now, and when the unit last read them, as far as these were kept."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.facts.service import STAMPS
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "reading.sh")


@dataclass(frozen=True)
class ReadFile(Shown):
    """A file's current text (None: no such file), and all its known texts by their sha256."""

    now: str | None
    known: dict[str, str]


class Reading(Fact[dict[str, ReadFile]]):
    """The current texts of files and the texts that were kept for a unit, by path."""

    def command(self, unit: str, paths: Sequence[str]) -> StringCommand:
        """Ask for all files in one command."""
        return ask(_LOOK, STAMPS, unit, *paths)

    def read(self, lines: list[str]) -> dict[str, ReadFile]:
        """Read the answer."""
        now: dict[str, str | None] = {}
        known: dict[str, dict[str, str]] = {}
        for line in lines:
            kind, code, path = line.split("\t", 2)
            text = base64.b64decode(code).decode(errors="replace") if kind != "-" else None
            if kind != "K":
                now[path] = text
            if text is not None:
                known.setdefault(path, {})[sha256(text.encode()).hexdigest()] = text
        return {path: ReadFile(text, known.get(path, {})) for path, text in now.items()}
