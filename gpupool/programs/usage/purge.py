"""Files that nobody has changed for long go away; each is written down before it goes."""

import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import note, soon, tree

Say = Callable[[str], None]
_MONTHS = 13
_LATE = 6 * 3600  # seconds that a timer may start a run after its time, beside the accident of one that was left out
#: Whatever the settings say, nothing goes from these.
NEVER = ("/bin", "/boot", "/dev", "/etc", "/lib", "/opt", "/proc", "/root", "/run", "/sbin", "/sys", "/usr", "/var/lib")


@dataclass(frozen=True)
class Rule:
    """Below `path` goes what was not changed for `seconds`; directories of the first `keep` levels always stay.

    `every` is how often that is looked for, in seconds. What goes within `warn` seconds is said in the directories of
    that level, in a file (0: nowhere). `spared` are directories whose files stay wherever they lie:
    people's homes, other exports, Slurm's state.
    """

    path: str
    seconds: int
    every: int
    keep: int
    spared: tuple[str, ...] = ()
    warn: int = 0


@dataclass
class Gone:
    """What went: files and links with their KiB, directories; and how many should have gone and did not."""

    files: int = 0
    kib: int = 0
    directories: int = 0
    failed: int = 0


@dataclass
class _Level:
    """An open directory: what is still to be entered, and whether anything stays in it."""

    fd: int
    name: str
    depth: int
    old: bool
    stays: bool = False
    inner: list[str] = field(default_factory=list)
    going: soon.Soon = field(default_factory=soon.Soon)


def purge(rule: Rule, now: float, log: Say, dry: bool = False, warn: bool = False) -> Gone:
    """Remove what the rule says, with a line of `log` for each file and directory before it goes; `dry`: lines only.

    Regular files and symbolic links go, never what a link points to, sockets, pipes and devices. What counts is the
    later of content changed and anything else changed (owner, name, links): files unpacked with old dates are new.
    With `warn` people find in their directories how much goes soon.
    """
    fd = tree.open_top(rule.path)
    try:
        spared = tree.identities((*NEVER, *rule.spared))
        if inside := tree.lies_in(fd, spared):
            raise tree.NoWayError(f"it is inside {inside}, from which nothing is removed")
    except tree.NoWayError:
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
                walk.tell(level)
            os.close(stack.pop().fd)
            if stack:
                stack[-1].going.add(level.going)
                walk.leave(stack[-1], level)
    finally:
        for level in stack:
            os.close(level.fd)
    return walk.gone


class _Walk:
    """One walk through one tree."""

    def __init__(
        self, rule: Rule, fd: int, now: float, log: Say, dry: bool, spared: dict[tuple[int, int], str]
    ) -> None:
        self.rule = rule
        self.spared = spared
        self.now = now
        self.before = now - rule.seconds
        self.log = log
        self.dry = dry
        self.gone = Gone()
        self.device = os.fstat(fd).st_dev
        self.mount = tree.mount_of(fd)
        self.root = tree.path_of(fd)
        # a file with several names has its time set by the loss of each: those that go all go on one day
        self.unlinked: set[int] = set()

    def look(self, level: _Level) -> _Level:
        """Remove the old files of a directory, and note the directories in it."""
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
        """Count a file that stays today, if it goes in the time of which people are warned."""
        changed = max(status.st_mtime, status.st_ctime)
        if (
            not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode))
            or changed >= self.before + self.rule.warn
        ):
            return
        if name != soon.FILE or not note.ours(status):
            level.going.add(soon.Soon(1, note.in_kib(status.st_blocks), changed + self.rule.seconds))

    def tell(self, level: _Level) -> None:
        """Write in a person's directory how much of it goes soon; who has something in that place is not told."""
        if not self.rule.warn or not self.inside(level.fd):
            return
        try:
            soon.put(level.fd, level.going, self.rule.seconds, self.rule.warn, self.now)
        except OSError as error:
            here = tree.shown(f"{tree.path_of(level.fd)}/{soon.FILE}")
            self.log(f"{_moment(time.time())}\tnot written: {error.strerror}\t\t\t\t{here}")

    def enter(self, above: _Level, name: str) -> _Level | None:
        """Open the next directory; None where it stays: spared, on another file system, moved away, too deep."""
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
        """Remove a directory in which nothing stays, if nobody changed it for as long before we came."""
        here = tree.path_of(above.fd)
        if level.stays or not level.old or level.depth <= self.rule.keep or not self.inside(above.fd):
            above.stays = True
            return
        self.line("directory", 0, None, f"{here}/{level.name}/")
        try:
            if not self.dry:
                os.rmdir(level.name, dir_fd=above.fd)
            self.gone.directories += 1
        except OSError as error:
            above.stays = True
            # not empty: somebody has put something there in the meantime
            if error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                self.failed(f"{here}/{level.name}", error)

    def old(self, status: os.stat_result) -> bool:
        """Return whether a file or directory has not been changed for long enough."""
        changed = status.st_mtime if status.st_ino in self.unlinked else max(status.st_mtime, status.st_ctime)
        return changed < self.before

    def inside(self, fd: int) -> bool:
        """Return whether an open directory still lies in the tree: somebody may have moved it away."""
        now = tree.path_of(fd)
        return now == self.root or now.startswith(f"{self.root.rstrip('/')}/")

    def remove(self, level: _Level, name: str, seen: os.stat_result) -> bool:
        """Remove one file; False when it is no longer what it was."""
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
                    # the number is free with the last name, and the next new file may get it
                    self.unlinked.discard(status.st_ino)
        except FileNotFoundError:
            return True
        except OSError as error:
            self.failed(path, error)
            return False
        self.gone.files += 1
        self.gone.kib += kib
        return True

    def line(self, what: str, kib: int, status: os.stat_result | None, path: str) -> None:
        """Write down what goes: when, what, KiB that become free, owner, last change, path."""
        owner = status.st_uid if status else "-"
        changed = _moment(max(status.st_mtime, status.st_ctime)) if status else "-"
        verb = "would remove" if self.dry else "remove"
        self.log(f"{_moment(time.time())}\t{verb} {what}\t{kib}K\tuid {owner}\t{changed}\t{tree.shown(path)}")

    def failed(self, path: str, error: OSError) -> None:
        """Write down what could not be removed or looked at."""
        self.gone.failed += 1
        self.log(f"{_moment(time.time())}\tfailed: {error.strerror}\t\t\t\t{tree.shown(path)}")


class _MovedError(Exception):
    """The directory at hand was moved out of the tree."""


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))


def doubt(stamp: Path, rule: Rule, now: float) -> str:
    """Return why a run should only say what it would do, "" when it may act; and note that there was a run.

    The clock decides what is old. One that jumps ahead, or a machine that was off for long, makes everything old at
    once: then a day passes between the list and the deed.
    """
    last = stamp.stat().st_mtime if stamp.exists() else None
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.touch()
    os.utime(stamp, (now, now))
    if last is None:
        return "this is the first run"
    if not -rule.every <= now - last <= 2 * rule.every + _LATE:
        return f"by this clock the run before was {(now - last) / 86400:.0f} days ago"
    return ""


def log_of(folder: Path, now: float) -> Path:
    """Return this month's log; those of more than a year ago go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("purge-????-??.log"))[: -_MONTHS + 1]:
        old.unlink()
    return folder / time.strftime("purge-%Y-%m.log", time.localtime(now))
