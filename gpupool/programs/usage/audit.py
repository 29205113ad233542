"""Entries at the top of a space that do not belong there: each user may create one directory, named after the user."""

import os
import pwd
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpupool.node import files

from . import tree


@dataclass(frozen=True)
class Stray:
    """An entry that does not belong: its kind, name, owner, day of the last change, and the reason."""

    kind: str
    name: str
    owner: str
    changed: str
    why: str

    @property
    def line(self) -> str:
        """The entry as one line, separated by tabs."""
        return f"{self.kind}\t{tree.shown(self.name)}\t{self.owner}\t{self.changed}\t{self.why}"


def audit(top: str, owners: Mapping[str, int], ours: frozenset[str] = frozenset()) -> list[Stray]:
    """Return the entries at `top` that are not directories of `owners` (name -> uid), named after and owned by them.

    `ours` are the names of files that gpupool writes there.
    """
    strays: list[Stray] = []
    fd = tree.open_top(top)
    try:
        for name, status in tree.entries(fd, lambda *_: None):
            if name in tree.OWN or name in ours:
                continue
            why = _why(name, status, owners)
            if why:
                kind = "directory" if tree.is_directory(status) else "link" if stat.S_ISLNK(status.st_mode) else "file"
                changed = time.strftime("%Y-%m-%d", time.localtime(status.st_mtime))
                strays.append(Stray(kind, name, owner_of(status.st_uid), changed, why))
    finally:
        os.close(fd)
    return sorted(strays, key=lambda stray: stray.name)


def _why(name: str, status: os.stat_result, owners: Mapping[str, int]) -> str:
    if name not in owners:
        return "not the name of a member"
    if not tree.is_directory(status):
        return "not a directory"
    if status.st_uid != owners[name]:
        return f"not owned by {name}"
    return ""


def owner_of(uid: int) -> str:
    """Return the name of a user, or the uid if it has no name here."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def write(folder: Path, space: str, top: str, strays: list[Stray], now: float) -> Path:
    """Write the list of one space atomically and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{space}.txt"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    head = f"Updated: {moment}\n{top}: {len(strays)} entries that do not belong\n"
    files.replace(path, head + "".join(f"{stray.line}\n" for stray in strays))
    return path
