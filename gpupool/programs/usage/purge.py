"""Remove files that have not changed for a long time. Each is logged before it is removed."""

import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import note, soon, tree

Say = Callable[[str], None]
_MONTHS = 13  # of logs that are kept
_LATE = 6 * 3600  # seconds that a timer may start a run after its time
#: Directories from which nothing is removed, whatever the settings contain.
NEVER = ("/bin", "/boot", "/dev", "/etc", "/lib", "/opt", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var/lib")


@dataclass(frozen=True)
class Rule:
    """Remove files below `path` that have not changed for `seconds`; keep the directories of the first `keep` levels.

    `every`: seconds between two runs. `warn`: files that will be removed within this many seconds are announced in a
    file in the directories of level `keep` (0: no announcement). `spared`: directories from which nothing is removed,
    such as homes, other exports and Slurm's state.
    """

    path: str
    seconds: int
    every: int
    keep: int
    spared: tuple[str, ...] = ()
    warn: int = 0


@dataclass
class Removed:
    """The result of a purge: the number of files and links, their KiB, the directories, and the failed removals."""

    files: int = 0
    kib: int = 0
    directories: int = 0
    failed: int = 0


@dataclass
class _Level:
    """An open directory of the walk; `inner` are the names of its directories that are not walked yet.

    `stays` is true if an entry of it stays, so that the directory cannot be removed.
    """

    fd: int
    name: str
    depth: int
    old: bool
    stays: bool = False
    inner: list[str] = field(default_factory=list)
    going: soon.Soon = field(default_factory=soon.Soon)


def purge(rule: Rule, now: float, log: Say, dry: bool = False, warn: bool = False) -> Removed:
    """Remove the files that a rule selects; `log` gets a line before each file and directory. `dry`: only the lines.

    Regular files and symbolic links are removed, but no targets of links, sockets, pipes and devices. The age of a file
    is the later of mtime and ctime: a file that was unpacked with an old date is new.
    With `warn`, users get a file in their directories that announces the next removals.
    """
    fd = tree.open_top(rule.path)
    try:
        spared = tree.identities((*NEVER, *rule.spared))
        if inside := tree.containing(fd, spared):
            raise tree.TreeError(f"it is inside {inside}, from which nothing is removed")
    except tree.TreeError:
        os.close(fd)
        raise
    walk = _Walk(rule, fd, now, log, dry, spared)
    stack = [walk.look(_Level(fd, "", 0, False))]
    try:
        while stack:
            level = stack[-1]
            if level.inner:
                if below := walk.enter(level, level.inner.pop()):
                    stack.append(below)
                    walk.look(below)
                continue
            if warn and level.depth == rule.keep:
                walk.announce(level)
            os.close(stack.pop().fd)
            if stack:
                stack[-1].going.add(level.going)
                walk.leave(stack[-1], level)
    finally:
        for level in stack:
            os.close(level.fd)
    return walk.removed


class _Walk:
    """A walk through one tree."""

    def __init__(
        self, rule: Rule, fd: int, now: float, log: Say, dry: bool, spared: dict[tuple[int, int], str]
    ) -> None:
        self.rule = rule
        self.spared = spared
        self.now = now
        self.before = now - rule.seconds
        self.log = log
        self.dry = dry
        self.removed = Removed()
        self.device = os.fstat(fd).st_dev
        self.mount = tree.mount_of(fd)
        self.root = tree.path_of(fd)
        # removing one name of a hard-linked file sets its ctime; its other names must still count as old
        self.unlinked: set[int] = set()

    def look(self, level: _Level) -> _Level:
        """Remove the old files of a directory, and collect the names of its directories."""
        here = tree.path_of(level.fd)
        try:
            for name, status in tree.entries(level.fd, lambda name, error: self.failed(f"{here}/{name}", error)):
                if level.depth == 0 and name in tree.OWN:
                    level.stays = True
                elif tree.is_directory(status):
                    level.inner.append(name)
                elif not self.old(status) or not self.remove(level, name, status):
                    level.stays = True
                    self.later(level, name, status)
                elif self.dry:
                    self.later(level, name, status)
        except _MovedError:
            level.stays = True
            level.inner.clear()
        except OSError as error:
            level.stays = True
            self.failed(here, error)
        return level

    def later(self, level: _Level, name: str, status: os.stat_result) -> None:
        """Count a file that stays today, if it will be removed within the time of the warning."""
        changed = max(status.st_mtime, status.st_ctime)
        if (
            not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode))
            or changed >= self.before + self.rule.warn
        ):
            return
        if name != soon.FILE or not note.ours(status):
            level.going.add(soon.Soon(1, note.in_kib(status.st_blocks), changed + self.rule.seconds))

    def announce(self, level: _Level) -> None:
        """Write the announcement into a user's directory; if the user has an entry at its path, only log that."""
        if not self.rule.warn or not self.inside(level.fd):
            return
        try:
            soon.put(level.fd, level.going, self.rule.seconds, self.rule.warn, self.now)
        except OSError as error:
            here = tree.shown(f"{tree.path_of(level.fd)}/{soon.FILE}")
            self.log(f"{_moment(time.time())}\tnot written: {error.strerror}\t\t\t\t{here}")

    def enter(self, above: _Level, name: str) -> _Level | None:
        """Open a directory below `above`; None if it is spared, on another file system, moved away or too deep."""
        try:
            fd = tree.open_below(above.fd, name, self.device)
        except OSError as error:
            self.failed(f"{tree.path_of(above.fd)}/{name}", error)
            fd = None
        if fd is not None and (
            tree.mount_of(fd) != self.mount or tree.identity(fd) in self.spared or not self.inside(fd)
        ):
            os.close(fd)
            fd = None
        if fd is None:
            above.stays = True
            return None
        return _Level(fd, name, above.depth + 1, self.old(os.fstat(fd)))

    def leave(self, above: _Level, level: _Level) -> None:
        """Remove a directory whose entries were all removed, if it was old before the purge."""
        here = tree.path_of(above.fd)
        if level.stays or not level.old or level.depth <= self.rule.keep or not self.inside(above.fd):
            above.stays = True
            return
        self.line("directory", 0, None, f"{here}/{level.name}/")
        try:
            if not self.dry:
                os.rmdir(level.name, dir_fd=above.fd)
            self.removed.directories += 1
        except OSError as error:
            above.stays = True
            # not empty: a user has just created an entry
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                self.failed(f"{here}/{level.name}", error)

    def old(self, status: os.stat_result) -> bool:
        """Return whether a file or directory has not been changed for long enough."""
        changed = status.st_mtime if status.st_ino in self.unlinked else max(status.st_mtime, status.st_ctime)
        return changed < self.before

    def inside(self, fd: int) -> bool:
        """Return whether an open directory is still inside the tree: a user may have moved it."""
        now = tree.path_of(fd)
        return now == self.root or now.startswith(f"{self.root.rstrip('/')}/")

    def remove(self, level: _Level, name: str, seen: os.stat_result) -> bool:
        """Remove one file; return False if it is another kind, has changed since `seen`, or cannot be removed."""
        if not (stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode)):
            return False
        if not self.inside(level.fd):
            raise _MovedError
        path = f"{tree.path_of(level.fd)}/{name}"
        try:
            status = os.stat(name, dir_fd=level.fd, follow_symlinks=False)
            if status.st_ino != seen.st_ino or not self.old(status):
                return False
            kib = note.in_kib(status.st_blocks) if status.st_nlink == 1 else 0
            self.line("file", kib, status, path)
            if not self.dry:
                os.unlink(name, dir_fd=level.fd)
                if status.st_nlink > 1:
                    self.unlinked.add(status.st_ino)
                else:
                    # the inode is free after the last name, and a new file may get it
                    self.unlinked.discard(status.st_ino)
        except FileNotFoundError:
            return True
        except OSError as error:
            self.failed(path, error)
            return False
        self.removed.files += 1
        self.removed.kib += kib
        return True

    def line(self, what: str, kib: int, status: os.stat_result | None, path: str) -> None:
        """Log a removal: time, kind, KiB that become free, owner, last change, path."""
        owner = status.st_uid if status else "-"
        changed = _moment(max(status.st_mtime, status.st_ctime)) if status else "-"
        verb = "would remove" if self.dry else "remove"
        self.log(f"{_moment(time.time())}\t{verb} {what}\t{kib}K\tuid {owner}\t{changed}\t{tree.shown(path)}")

    def failed(self, path: str, error: OSError) -> None:
        """Log an entry that could not be read or removed."""
        self.removed.failed += 1
        self.log(f"{_moment(time.time())}\tfailed: {error.strerror}\t\t\t\t{tree.shown(path)}")


class _MovedError(Exception):
    """The current directory was moved out of the tree."""


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))


def record_run(stamp: Path, rule: Rule, now: float) -> str:
    """Record the time of a run in `stamp`; return why this run may only list the files, "" if it may remove them.

    A clock that jumps ahead, or a machine that was off for long, makes all files old at once. Then one run only lists
    them, so that an admin can act before the next one removes them.
    """
    last = stamp.stat().st_mtime if stamp.exists() else None
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
    os.utime(stamp, (now, now))
    if last is None:
        return "this is the first run"
    if not -rule.every <= now - last <= 2 * rule.every + _LATE:
        return f"by this clock the previous run was {(now - last) / 86400:.0f} days ago"
    return ""


def log_of(folder: Path, now: float) -> Path:
    """Return the path of this month's log, and remove logs that are older than a year."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("purge-????-??.log"))[: -_MONTHS + 1]:
        old.unlink()
    return folder / time.strftime("purge-%Y-%m.log", time.localtime(now))
