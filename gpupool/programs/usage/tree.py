"""Directories by open descriptors: links are never followed, other file systems never entered."""

import contextlib
import errno
import os
import resource
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from gpupool.node import commands
from gpupool.node.commands import CommandError

#: Seconds that a file system has to answer; a server that is away would let us wait for ever.
PATIENCE = 20
#: At the top of a file system: its own, nobody's files.
OWN = frozenset({".zfs", "lost+found"})
_BATCH = 2000
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NoWayError(Exception):
    """A directory that cannot be worked on, in words."""


def open_top(path: str) -> int:
    """Open a directory by its absolute path, of which no part may be a link; the caller closes it."""
    now = os.open("/", _DIRECTORY)
    for part in path.strip("/").split("/"):
        try:
            below = os.open(part, _DIRECTORY, dir_fd=now)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise NoWayError(f"{shown(part)} in its path is a link, or not a directory") from None
            raise NoWayError(error.strerror) from None
        finally:
            os.close(now)
        now = below
    return now


def open_below(above: int, name: str, device: int) -> int | None:
    """Open a directory in an open one; None when it is none (any more), or lies on another file system."""
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=above)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            return None
        raise
    if os.fstat(fd).st_dev != device:
        os.close(fd)
        return None
    return fd


def identity(fd: int) -> tuple[int, int]:
    """Return what an open directory is, by whatever path: its device and inode."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def identities(paths: Iterable[str]) -> dict[tuple[int, int], str]:
    """Return what directories are, links in their paths followed; those that are not there are left out."""
    places = {}
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(path)  # noqa: PTH116  # as all else here
            places[status.st_dev, status.st_ino] = path
    return places


def lies_in(fd: int, places: Mapping[tuple[int, int], str]) -> str:
    """Return the place in which an open directory lies, or which it is; "" for none."""
    now = os.dup(fd)
    try:
        while True:
            here = identity(now)
            if here in places:
                return places[here]
            above = os.open("..", _DIRECTORY, dir_fd=now)
            os.close(now)
            now = above
            if identity(now) == here:
                return ""
    finally:
        os.close(now)


def entries(fd: int, missed: Callable[[str, OSError], None]) -> Iterator[tuple[str, os.stat_result]]:
    """Return the names in an open directory with what they are, but tell `missed` of those that cannot be looked at.

    Some at a time, so that a directory of millions costs no memory, and in the order in which they lie on the disk.
    """
    with os.scandir(fd) as listing:
        while batch := sorted(islice(listing, _BATCH), key=_inode):
            for entry in batch:
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                except OSError as error:
                    missed(entry.name, error)
                    continue
                yield entry.name, status


def _inode(entry: "os.DirEntry[str]") -> int:
    return entry.inode()


def is_directory(status: os.stat_result) -> bool:
    """Return whether an entry is a directory, which a link to one is not."""
    return stat.S_ISDIR(status.st_mode)


def mount_of(fd: int) -> str:
    """Return the kernel's number of the mount that an open directory lies on: a bind mount has another."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:  # noqa: PTH123  # Path would cost as much again
        return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")


def file_system(fd: int) -> str:
    """Return the kind of file system that an open directory lies on, such as zfs."""
    mount = mount_of(fd)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
        return next((line.partition(" - ")[2].split()[0] for line in lines if line.split()[0] == mount), "")


def path_of(fd: int) -> str:
    """Return the path that an open directory has now, wherever it was moved to; "" where it is too long for Linux."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115
    except OSError:
        return ""


def answers(path: str) -> bool:
    """Return whether the file system of a path answers; asked in a process that can be killed."""
    try:
        return commands.run(["stat", "-f", "--", path], PATIENCE).code == 0
    except CommandError:
        return False


def allow_depth() -> None:
    """Let this process have more directories open: each level of a tree is one. No path of Linux has more levels."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))


def shown(path: str) -> str:
    """Return a path as one line of plain text: people may name their files as they like."""
    return "".join(sign if sign.isprintable() and sign != "\\" else _escaped(sign) for sign in path)


def _escaped(sign: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in sign.encode(errors="surrogateescape"))
