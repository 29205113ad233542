"""The files, directories and links at given paths of a node."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import Joint, ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

Kind = Literal["file", "directory", "link", "other"]
_KINDS: dict[str, Kind] = {"f": "file", "d": "directory", "l": "link"}

_LOOK = shell_file(__package__, "files.sh")


@dataclass(frozen=True)
class PathState(Shown):
    """The state of one path: `mode` is octal text ("0644"); `text` only for files that differ and may be shown."""

    kind: Kind
    owner: str
    group: str
    mode: str
    target: str | None = None
    sha256: str | None = None
    text: str | None = None


class Paths(Fact[dict[str, PathState]]):
    """The state of all these paths, in one command; paths that do not exist are missing in the answer.

    `shown` has the wanted sha256 of each file whose text may be shown: its text is read only if the file differs.
    """

    def command(self, paths: Sequence[str], shown: Mapping[str, str] | None = None) -> StringCommand:
        """Ask for all paths in one command."""
        shown = shown or {}
        same = "".join(f"|{sha} {path}|" for path, sha in shown.items())
        return ask(_LOOK, same, "".join(f"|{path}|" for path in shown), *paths, joint=_JOINT)

    def read(self, lines: list[str]) -> dict[str, PathState]:
        """Read the answer."""
        sums: dict[str, str] = {}
        texts: dict[str, str] = {}
        stats: dict[str, list[str]] = {}
        for line in lines:
            tag, *rest = line.split("\t")
            if tag == "P":
                stats[rest[5]] = rest
            elif tag == "S":
                sums[rest[1]] = rest[0]
            elif tag == "T":
                texts[rest[0]] = _text(rest[1])
        return {
            path: PathState(
                kind=_KINDS.get(kind, "other"), owner=owner, group=group, mode=mode.zfill(4),
                target=target if kind == "l" else None, sha256=sums.get(path), text=texts.get(path),
            )
            for path, (kind, mode, owner, group, target, _) in stats.items()
        }  # fmt: skip


def _merged(questions: Sequence[Sequence[str]]) -> Sequence[str] | None:
    sames = [same for same, *_ in questions]
    wanted = {entry for same in sames for entry in same.split("|") if entry}
    if len({entry.partition(" ")[2] for entry in wanted}) < len(wanted):
        return None  # one path with two wanted contents: the questions need different texts
    shown = "".join(shown for _, shown, *_ in questions)
    return ["".join(sames), shown, *dict.fromkeys(path for _, _, *paths in questions for path in paths)]


def _part(lines: Sequence[str], values: Sequence[str]) -> list[str]:
    _, shown, *paths = values
    own = set(paths)
    return [
        line for line in lines
        if (path := _path(line)) in own and (not line.startswith("T") or f"|{path}|" in shown)
    ]  # fmt: skip


def _path(line: str) -> str:
    match line.split("\t"):
        case ["P", _, _, _, _, _, path] | ["S", _, path] | ["T", path, _]:
            return path
    raise ValueError(line)


_JOINT = Joint(_merged, _part)


def _text(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return "(not a text file)\n"
