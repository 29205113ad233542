"""Directories as open descriptors. Links are never followed, and other file systems are never entered."""

import contextlib
import errno
import os
import resource
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from gpupool.node import commands
from gpupool.node.commands import CommandError

#: Time limit in seconds for the answer of a file system. Without it a dead NFS server would block forever.
PATIENCE = 20
#: Entries at the top of a file system that belong to the file system itself.
OWN = frozenset({".zfs", "lost+found"})
_BATCH = 2000
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeError(Exception):
    """A tree cannot be processed; the message is the reason."""


def open_top(path: str) -> int:
    """Open a directory by its absolute path; TreeError if a part of it is a link. The caller closes it."""
    now = os.open("/", _DIRECTORY)
    for part in path.strip("/").split("/"):
        try:
            below = os.open(part, _DIRECTORY, dir_fd=now)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise TreeError(f"{shown(part)} in its path is a link, or not a directory") from None
            raise TreeError(error.strerror) from None
        finally:
            os.close(now)
        now = below
    return now


def open_below(above: int, name: str, device: int) -> int | None:
    """Open a directory below an open one; None if it is not a directory (any more) or is on another file system."""
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
    """Return device and inode of an open directory, which do not depend on its path."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def identities(paths: Iterable[str]) -> dict[tuple[int, int], str]:
    """Return the path of each existing directory by its device and inode; links in paths are followed."""
    places = {}
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(path)  # noqa: PTH116  # as all else here
            places[status.st_dev, status.st_ino] = path
    return places


def containing(fd: int, places: Mapping[tuple[int, int], str]) -> str:
    """Return the value in `places` of an open directory, or of its nearest ancestor there; "" if there is none."""
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
    """Yield name and status of each entry of an open directory; call `missed` for entries whose status fails.

    Entries are read in batches, to limit memory for directories of millions, and in the order of their inodes.
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
    """Return whether an entry is a directory; a link to a directory is not."""
    return stat.S_ISDIR(status.st_mode)


def mount_of(fd: int) -> str:
    """Return the kernel's mount id of an open directory. A bind mount has a different one."""
    with open(f"/proc/self/fdinfo/{fd}", encoding="ascii") as lines:  # noqa: PTH123  # Path would cost as much again
        return next((line.split()[1] for line in lines if line.startswith("mnt_id:")), "")


def file_system(fd: int) -> str:
    """Return the type of the file system of an open directory, such as zfs."""
    mount = mount_of(fd)
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
        return next((line.partition(" - ")[2].split()[0] for line in lines if line.split()[0] == mount), "")


def path_of(fd: int) -> str:
    """Return the present path of an open directory, which may have moved; "" if it is too long for Linux."""
    try:
        return os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115
    except OSError:
        return ""


def answers(path: str) -> bool:
    """Return whether the file system of a path answers. A child process asks, because it can be killed."""
    try:
        return commands.run(["stat", "-f", "--", path], PATIENCE).code == 0
    except CommandError:
        return False


def allow_depth() -> None:
    """Raise the limit of open files to 4096: each level of a tree needs one, and a Linux path has no more levels."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))


def shown(path: str) -> str:
    """Return a path as one line of printable text, with other characters escaped: file names may contain any byte."""
    return "".join(sign if sign.isprintable() and sign != "\\" else _escaped(sign) for sign in path)


def _escaped(sign: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in sign.encode(errors="surrogateescape"))
