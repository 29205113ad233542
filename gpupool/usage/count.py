"""How much each directory at the top of a tree holds, in one walk: what `du -sk` says, hard links counted once."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import note, tree

Say = Callable[[str], None]

#: Seconds after which a file system knows how many blocks a new file and its directory take; others know at once.
SETTLES = {"zfs": 6}


@dataclass
class Sum:
    """What one directory holds so far, in blocks of 512 bytes, and of files with several names how many were seen.

    `links`: inode -> (names seen, names in all, blocks). All names seen: nobody will ask for it again.
    """

    blocks: int = 0
    links: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    missed: str = ""

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

    def miss(self, name: str, error: OSError) -> None:
        """Remember the first thing that could not be looked at: the sum is too small."""
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


def count(top: str, levels: int, file: str, now: float, say: Say) -> bool:
    """Write `file` into each directory up to `levels` below `top`; tell whether all of them got it.

    What went wrong is said, one line a directory: that one keeps the file that it has.
    """
    fd = tree.open_top(top)
    walk = _Walk(os.fstat(fd).st_dev, levels, file, now, say)
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
                walk.trouble(top, f"not all of it could be looked at: {level.sum.missed}")
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
    return walk.whole


@dataclass(frozen=True)
class _Written:
    """A directory, by the names on the way to it, that got its file: blocks of all else in it, and those of both."""

    way: tuple[str, ...]
    blocks: int
    own: int


class _Walk:
    """One walk through one tree."""

    def __init__(self, device: int, levels: int, file: str, now: float, say: Say) -> None:
        self.device = device
        self.levels = levels
        self.file = file
        self.now = now
        self.say = say
        self.whole = True
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
            for name, it in tree.entries(level.fd, total.miss):
                if tree.is_directory(it):
                    if it.st_dev == self.device and not (level.depth == 0 and name in left_out):
                        level.inner.append(name)
                elif name in left_out:
                    continue
                elif it.st_nlink > 1:
                    total.link(it.st_ino, it.st_nlink, it.st_blocks)
                else:
                    blocks += it.st_blocks
        except OSError as error:
            total.miss(level.path, error)
        total.blocks += blocks
        return level

    def finish(self, level: _Level) -> None:
        """Write what was found, unless something could not be looked at."""
        if level.sum.missed:
            self.trouble(level.path, f"not counted, because of {level.sum.missed}")
        else:
            try:
                own = note.put(level.fd, self.file, level.sum.blocks, self.now)
                self.written.append(_Written(tuple(level.path.split("/")[-level.depth :]), level.sum.blocks, own))
                level.sum.blocks += own
                return
            except OSError as error:
                self.trouble(level.path, f"{self.file} cannot be written: {error.strerror}")
        level.sum.blocks += note.size(level.fd, self.file)

    def settle(self, top: int) -> None:
        """Write anew where file and directory take another number of blocks by now."""
        more: dict[tuple[str, ...], int] = {}
        for it in self.written:  # what lies deeper comes first
            fd = _way_down(top, it.way, self.device)
            if fd is None:
                continue
            try:
                grown, own = more.get(it.way, 0), note.size(fd, self.file)
                if note.in_kib(it.blocks + grown + own) != note.in_kib(it.blocks + it.own):
                    own = note.put(fd, self.file, it.blocks + grown, self.now)
                more[it.way[:-1]] = more.get(it.way[:-1], 0) + grown + own - it.own
            except OSError as error:
                self.trouble("/".join(it.way), f"{self.file} cannot be written: {error.strerror}")
            finally:
                os.close(fd)

    def trouble(self, path: str, why: str) -> None:
        """Say what went wrong."""
        self.whole = False
        self.say(f"{tree.shown(path)}: {why}")


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
