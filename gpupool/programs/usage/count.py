"""Count the size of each directory at the top of a tree in one walk: as `du -sk`, with hard links counted once."""

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import note, tree
from .audit import owner_of

Say = Callable[[str], None]

#: Seconds until a file system of a type reports the final blocks of a new file. All other types report them at once.
SETTLE_SECONDS = {"zfs": 6}
#: Errors that users cause in their directories, with a FUSE mount, a quota or a tree that is too deep.
_CAUSED_BY_USERS = frozenset({
    errno.EACCES, errno.EPERM, errno.ENOTCONN, errno.EDQUOT, errno.EMFILE, errno.ENAMETOOLONG,
})  # fmt: skip


@dataclass(frozen=True)
class Uncounted:
    """A directory without a usage file: its path below the top ("" for the top itself), its owner and the reason."""

    path: str
    owner: str
    why: str


@dataclass
class Counted:
    """The result of a count: the directories without a file. `well` is false after an error that no user caused."""

    well: bool = True
    uncounted: list[Uncounted] = field(default_factory=list)


@dataclass
class Sum:
    """The size of one directory so far, in blocks of 512 bytes, and the hard links seen there.

    `links`: inode -> (names seen, all names, blocks); a file is removed from it once all its names were seen.
    `missed`: the first entry that could not be read, with the error. `fault`: whether an error is not caused by users.
    """

    blocks: int = 0
    links: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    missed: str = ""
    fault: bool = False

    def link(self, inode: int, names: int, blocks: int, seen: int = 1) -> None:
        """Add `seen` names of a file with several `names`. Its blocks count once, with the first name."""
        before, names, blocks = self.links.get(inode, (0, names, blocks))
        if not before:
            self.blocks += blocks
        if before + seen < names:
            self.links[inode] = (before + seen, names, blocks)
        else:
            self.links.pop(inode, None)

    def merge(self, below: "Sum") -> None:
        """Add the size of a directory below this one."""
        self.blocks += below.blocks
        for inode, (seen, names, blocks) in below.links.items():
            self.blocks -= blocks
            self.link(inode, names, blocks, seen)
        self.missed = self.missed or below.missed
        self.fault = self.fault or below.fault

    def miss(self, name: str, error: OSError) -> None:
        """Remember the first entry that could not be read: the sum is too small."""
        self.fault = self.fault or error.errno not in _CAUSED_BY_USERS
        self.missed = self.missed or f"{tree.shown(name)}: {error.strerror}"


@dataclass
class _Level:
    """An open directory of the walk; `inner` are the names of its directories that are not walked yet.

    `path` is the whole path down to the levels that get a file. Below it is the name only, because trees may be deep.
    """

    fd: int
    path: str
    depth: int
    sum: Sum
    inner: list[str] = field(default_factory=list)


def count(top: str, levels: int, file: str, now: float, say: Say) -> Counted:
    """Write `file` into each directory up to `levels` below `top`, and return the directories where that failed.

    `say` gets one line for each of these. Such a directory keeps its old file, and files of users are never replaced.
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
                walk.skip(level, f"not all of it could be read: {level.sum.missed}", level.sum.fault)
            stack.pop()
            if level.depth:
                os.close(level.fd)
        if walk.written and (wait := SETTLE_SECONDS.get(tree.file_system(fd))):
            time.sleep(wait)
            walk.settle(fd)
    finally:
        for level in stack[1:]:
            os.close(level.fd)
        os.close(fd)
    return walk.counted


@dataclass(frozen=True)
class _Written:
    """A directory that got its file; `names` are the parts of its path below the top.

    `own` are the blocks of the directory and the file, `blocks` those of everything else in the directory.
    """

    names: tuple[str, ...]
    blocks: int
    own: int


class _Walk:
    """A walk through one tree."""

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
        """Open a directory below `above`; None if it was removed or cannot be opened."""
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
        """Add the sizes of the files of a directory, and collect the names of its directories."""
        total, blocks = level.sum, 0
        # the usage file is counted when it is written
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
        """Write the usage file of a directory, unless a part of it could not be read."""
        if level.sum.missed:
            self.skip(level, f"not counted, because of {level.sum.missed}", level.sum.fault)
        else:
            try:
                own = note.put(level.fd, self.file, level.sum.blocks, self.now)
                self.written.append(_Written(_names(level), level.sum.blocks, own))
                level.sum.blocks += own
                return
            except OSError as error:
                self.skip(level, *self.unwritten(error))
        level.sum.blocks += note.size(level.fd, self.file)

    def settle(self, top: int) -> None:
        """Rewrite the files of directories whose own blocks have changed since they were written."""
        more: dict[tuple[str, ...], int] = {}
        for directory in self.written:  # deeper directories come first
            fd = _open(top, directory.names, self.device)
            if fd is None:
                continue
            try:
                grown, own = more.get(directory.names, 0), note.size(fd, self.file)
                if note.in_kib(directory.blocks + grown + own) != note.in_kib(directory.blocks + directory.own):
                    own = note.put(fd, self.file, directory.blocks + grown, self.now)
                above = directory.names[:-1]
                more[above] = more.get(above, 0) + grown + own - directory.own
            except OSError as error:
                path = "/".join((self.top, *directory.names))
                self.skip(_Level(fd, path, len(directory.names), Sum()), *self.unwritten(error))
            finally:
                os.close(fd)

    def unwritten(self, error: OSError) -> tuple[str, bool]:
        """Return why the file could not be written, and whether that is a fault that no user caused."""
        by_user = isinstance(error, note.TakenError) or error.errno in _CAUSED_BY_USERS
        return f"{self.file} is not written: {error.strerror}", not by_user

    def skip(self, level: _Level, why: str, fault: bool) -> None:
        """Record and print that a directory gets no file, with the reason."""
        self.counted.well = self.counted.well and not fault
        path, owner = tree.shown("/".join(_names(level))), owner_of(os.fstat(level.fd).st_uid)
        self.counted.uncounted.append(Uncounted(path, owner, why))
        self.say(f"{tree.shown(level.path)}: {why}")


def _names(level: _Level) -> tuple[str, ...]:
    """Return the parts of the path from the top to a directory that gets a file."""
    return tuple(level.path.split("/")[-level.depth :]) if level.depth else ()


def _open(top: int, names: tuple[str, ...], device: int) -> int | None:
    """Open a directory by the parts of its path below the top; None if it does not exist any more."""
    now = os.dup(top)
    for name in names:
        try:
            below = tree.open_below(now, name, device)
        except OSError:
            below = None
        os.close(now)
        if below is None:
            return None
        now = below
    return now
