"""How much each directory at the top of a tree holds, in one walk: what `du -sk` says, hard links counted once."""

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import note, tree
from .audit import owner_of

Say = Callable[[str], None]

#: Seconds after which a file system knows how many blocks a new file and its directory take; others know at once.
SETTLES = {"zfs": 6}
#: What people bring about in their own directories: a file system of their own, a quota, a tree deeper than we can go.
_PEOPLES = frozenset({
    errno.EACCES, errno.EPERM, errno.ENOTCONN, errno.EDQUOT, errno.EMFILE, errno.ENAMETOOLONG,
})  # fmt: skip


@dataclass(frozen=True)
class Left:
    """A directory, by its path below the top, that got no file ("" for the top itself); why, and who owns it."""

    path: str
    owner: str
    why: str


@dataclass
class Counted:
    """How a count went: `well` unless something failed that nobody's directory is to blame for, and who has no file."""

    well: bool = True
    left: list[Left] = field(default_factory=list)


@dataclass
class Sum:
    """What one directory holds so far, in blocks of 512 bytes, and of files with several names how many were seen.

    `links`: inode -> (names seen, names in all, blocks). All names seen: nobody will ask for it again.
    `missed`: the first that could not be looked at, `fault`: and not all of that was people's own doing.
    """

    blocks: int = 0
    links: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    missed: str = ""
    fault: bool = False

    def link(self, inode: int, names: int, blocks: int, seen: int = 1) -> None:
        """Add `seen` of a file's names: its blocks count with the first."""
        before, names, blocks = self.links.get(inode, (0, names, blocks))
        if not before:
            self.blocks += blocks
        if before + seen < names:
            self.links[inode] = (before + seen, names, blocks)
        else:
            self.links.pop(inode, None)

    def merge(self, below: "Sum") -> None:
        """Add what a directory within this one holds."""
        self.blocks += below.blocks
        for inode, (seen, names, blocks) in below.links.items():
            self.blocks -= blocks
            self.link(inode, names, blocks, seen)
        self.missed = self.missed or below.missed
        self.fault = self.fault or below.fault

    def miss(self, name: str, error: OSError) -> None:
        """Remember the first thing that could not be looked at: the sum is too small."""
        self.fault = self.fault or error.errno not in _PEOPLES
        self.missed = self.missed or f"{tree.shown(name)}: {error.strerror}"


@dataclass
class _Level:
    """An open directory on the way down, and the names below it that are still to be entered.

    `path` is whole as far as files are written, the name alone below that: trees may be very deep.
    """

    fd: int
    path: str
    depth: int
    sum: Sum
    inner: list[str] = field(default_factory=list)


def count(top: str, levels: int, file: str, now: float, say: Say) -> Counted:
    """Write `file` into each directory up to `levels` below `top`, and give those that did not get it.

    What went wrong is said, one line a directory: that one keeps the file that it has, and whatever people have there.
    """
    fd = tree.open_top(top)
    walk = _Walk(top, os.fstat(fd).st_dev, levels, file, now, say)
    stack = [walk.look(_Level(fd, top, 0, Sum()))]
    try:
        while stack:
            level = stack[-1]
            if level.inner:
                if below := walk.enter(level, level.inner.pop()):
                    stack.append(below)
                    walk.look(below)
                continue
            if 0 < level.depth <= levels:
                walk.finish(level)
                if level.depth > 1:
                    stack[-2].sum.merge(level.sum)
            elif level.depth == 0 and level.sum.missed:
                walk.leave(level, f"not all of it could be read: {level.sum.missed}", level.sum.fault)
            stack.pop()
            if level.depth:
                os.close(level.fd)
        if walk.written and (wait := SETTLES.get(tree.file_system(fd))):
            time.sleep(wait)
            walk.settle(fd)
    finally:
        for level in stack[1:]:
            os.close(level.fd)
        os.close(fd)
    return walk.counted


@dataclass(frozen=True)
class _Written:
    """A directory, by the names on the way to it, that got its file: blocks of all else in it, and those of both."""

    way: tuple[str, ...]
    blocks: int
    own: int


class _Walk:
    """One walk through one tree."""

    def __init__(self, top: str, device: int, levels: int, file: str, now: float, say: Say) -> None:
        self.top = top
        self.device = device
        self.levels = levels
        self.file = file
        self.now = now
        self.say = say
        self.counted = Counted()
        self.written: list[_Written] = []

    def enter(self, above: _Level, name: str) -> _Level | None:
        """Open the next directory; None when it went away or cannot be opened."""
        try:
            fd = tree.open_below(above.fd, name, self.device)
        except OSError as error:
            above.sum.miss(name, error)
            return None
        if fd is None:
            return None
        depth = above.depth + 1
        if depth <= self.levels:
            return _Level(fd, f"{above.path}/{name}", depth, Sum())
        above.sum.blocks += os.fstat(fd).st_blocks
        return _Level(fd, name, depth, above.sum)

    def look(self, level: _Level) -> _Level:
        """Add up what lies in a directory, and note the directories in it."""
        total, blocks = level.sum, 0
        # a directory's own file is counted when it is written
        left_out = {self.file, note.leftover(self.file)} if level.depth <= self.levels else set()
        if level.depth == 0:
            left_out |= tree.OWN
        try:
            for name, status in tree.entries(level.fd, total.miss):
                if tree.is_directory(status):
                    if status.st_dev == self.device and not (level.depth == 0 and name in left_out):
                        level.inner.append(name)
                elif name in left_out and note.ours(status):
                    continue
                elif status.st_nlink > 1:
                    total.link(status.st_ino, status.st_nlink, status.st_blocks)
                else:
                    blocks += status.st_blocks
        except OSError as error:
            total.miss(level.path, error)
        total.blocks += blocks
        return level

    def finish(self, level: _Level) -> None:
        """Write what was found, unless something could not be looked at."""
        if level.sum.missed:
            self.leave(level, f"not counted, because of {level.sum.missed}", level.sum.fault)
        else:
            try:
                own = note.put(level.fd, self.file, level.sum.blocks, self.now)
                self.written.append(_Written(_way(level), level.sum.blocks, own))
                level.sum.blocks += own
                return
            except OSError as error:
                self.leave(level, *self.unwritten(error))
        level.sum.blocks += note.size(level.fd, self.file)

    def settle(self, top: int) -> None:
        """Write anew where file and directory take another number of blocks by now."""
        more: dict[tuple[str, ...], int] = {}
        for directory in self.written:  # what lies deeper comes first
            fd = _way_down(top, directory.way, self.device)
            if fd is None:
                continue
            try:
                grown, own = more.get(directory.way, 0), note.size(fd, self.file)
                if note.in_kib(directory.blocks + grown + own) != note.in_kib(directory.blocks + directory.own):
                    own = note.put(fd, self.file, directory.blocks + grown, self.now)
                more[directory.way[:-1]] = more.get(directory.way[:-1], 0) + grown + own - directory.own
            except OSError as error:
                self.leave(
                    _Level(fd, "/".join((self.top, *directory.way)), len(directory.way), Sum()), *self.unwritten(error)
                )
            finally:
                os.close(fd)

    def unwritten(self, error: OSError) -> tuple[str, bool]:
        """Return why the file could not be written, and whether that is a fault and no affair of people's."""
        peoples = isinstance(error, note.TakenError) or error.errno in _PEOPLES
        return f"{self.file} is not written: {error.strerror}", not peoples

    def leave(self, level: _Level, why: str, fault: bool) -> None:
        """Say of a directory that it gets no file, and why."""
        self.counted.well = self.counted.well and not fault
        self.counted.left.append(Left(tree.shown("/".join(_way(level))), owner_of(os.fstat(level.fd).st_uid), why))
        self.say(f"{tree.shown(level.path)}: {why}")


def _way(level: _Level) -> tuple[str, ...]:
    """Return the names on the way from the top to a directory in which a file belongs."""
    return tuple(level.path.split("/")[-level.depth :]) if level.depth else ()


def _way_down(top: int, way: tuple[str, ...], device: int) -> int | None:
    """Open a directory by the names on the way to it; None where there is none any more."""
    now = os.dup(top)
    for name in way:
        try:
            below = tree.open_below(now, name, device)
        except OSError:
            below = None
        os.close(now)
        if below is None:
            return None
        now = below
    return now
