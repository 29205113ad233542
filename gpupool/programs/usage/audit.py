"""What lies at the top of a space and does not belong there: people make one directory, of their own name."""

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
    """Something that does not belong: what it is, its name, its owner, when it was last changed, and what is wrong."""

    kind: str
    name: str
    owner: str
    changed: str
    why: str

    @property
    def line(self) -> str:
        """One line for people."""
        return f"{self.kind}\t{tree.shown(self.name)}\t{self.owner}\t{self.changed}\t{self.why}"


def audit(top: str, owners: Mapping[str, int], ours: frozenset[str] = frozenset()) -> list[Stray]:
    """Return what lies at `top` and is not the directory of one of `owners` (name -> uid) with that owner, by name.

    `ours` are names of files that gpupool writes there itself.
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
        return "no member's name"
    if not tree.is_directory(status):
        return "no directory"
    if status.st_uid != owners[name]:
        return f"not {name}'s own"
    return ""


def owner_of(uid: int) -> str:
    """Return a user's name, or the number where there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def write(folder: Path, space: str, top: str, strays: list[Stray], now: float) -> Path:
    """Write the list of one space, whole or not at all, and give its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{space}.txt"
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    head = f"Updated: {moment}\n{top}: {len(strays)} that do not belong\n"
    files.replace(path, head + "".join(f"{stray.line}\n" for stray in strays))
    return path
