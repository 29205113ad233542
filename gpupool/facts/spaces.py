"""Folders of spaces: their numeric owner and group, and the groups in their ACL."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown

_LOOK = shell_file(__package__, "spaces.sh")
_KINDS = {"f": "file", "d": "directory", "l": "link"}


@dataclass(frozen=True)
class FolderState(Shown):
    """The state of a path: kind, numeric owner and group, mode (octal text), and groups that may write by ACL."""

    kind: str
    uid: int
    gid: int
    mode: str
    groups: tuple[int, ...] = ()


class Folders(Fact[dict[str, FolderState]]):
    """The state of these paths, in one command; paths that do not exist are missing in the answer."""

    def command(self, paths: Sequence[str]) -> StringCommand:
        """Ask for all paths in one command."""
        return ask(_LOOK, *paths)

    def read(self, lines: list[str]) -> dict[str, FolderState]:
        """Read the answer."""
        groups: dict[str, list[int]] = {}
        folders: dict[str, list[str]] = {}
        for line in lines:
            kind, rest = line.split("\t", 1)
            if kind == "P":
                *values, path = rest.split("\t", 4)
                folders[path] = values
            else:
                gid, path = rest.split("\t", 1)
                groups.setdefault(path, []).append(int(gid))
        return {
            path: FolderState(_KINDS.get(kind, "other"), int(uid), int(gid), mode.zfill(4), tuple(groups.get(path, ())))
            for path, (uid, gid, mode, kind) in folders.items()
        }
