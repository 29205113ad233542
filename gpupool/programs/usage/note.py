"""disk-usage.txt: three lines with the size of a directory, in the form that the users' guide documents."""

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Iterator

_UNITS = "KMGTPE"
_FORM = re.compile(
    r"Updated: (\d{4}-\d\d-\d\d \d\d:\d\d)\nUsage \(human-readable\):  [\d.]+[KMGTPE]\nUsage \(K\): (\d+)\n"
)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LARGEST = 200  # bytes; the three lines are always shorter
_NFS_ROOT = 65534  # the uid of root on an NFS mount with root_squash
_BLOCK = 512  # bytes, the unit of st_blocks
_KINDS = {stat.S_IFREG: "a file", stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link"}


def human(kib: int) -> str:
    """Return KiB with one decimal, rounded up, as `numfmt --from-unit=1024 --to=iec` does: 133284169 is 127.2G."""
    tenths, unit = kib * 10, 0
    while tenths >= 10240 and unit < len(_UNITS) - 1:
        unit += 1
        tenths = -(-kib * 10 // 1024**unit)
    return f"{tenths // 10}.{tenths % 10}{_UNITS[unit]}"


def text(kib: int, now: float) -> str:
    """Return the three lines; `now` is in seconds since 1970, and shown in the machine's time zone."""
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    return f"Updated: {moment}\nUsage (human-readable):  {human(kib)}\nUsage (K): {kib}\n"


def parse(content: str) -> tuple[str, int] | None:
    """Return (updated, KiB) of the three lines; None if the text has another form."""
    match = _FORM.fullmatch(content)
    return (match[1], int(match[2])) if match else None


class TakenError(OSError):
    """A user's entry is at the path of the file. It is never replaced."""


def leftover(file: str) -> str:
    """Return the temporary name of a file while it is written; a killed run leaves it behind."""
    return f".{file}.gpupool-new"


def put(fd: int, file: str, blocks: int, now: float) -> int:
    """Write the file into an open directory atomically, and return the blocks of directory and file together.

    `blocks` (of 512 bytes) are those of everything else below. The number in the file includes the file itself.
    TakenError if its path, or its temporary path, is an entry of another owner.
    """
    with _replacing(fd, file) as made:
        own = os.fstat(fd).st_blocks
        # the blocks of the new file are known only once it is on disk, so the second number is right
        for _ in range(2):
            os.ftruncate(made, 0)
            os.pwrite(made, text(in_kib(blocks + own), now).encode(), 0)
            os.fsync(made)
            own = os.fstat(fd).st_blocks + os.fstat(made).st_blocks
    return own


def write(fd: int, file: str, content: str) -> None:
    """Write a file with any text into an open directory atomically. TakenError as in `put`."""
    with _replacing(fd, file) as made:
        os.write(made, content.encode())


@contextlib.contextmanager
def _replacing(fd: int, file: str) -> Iterator[int]:
    """Yield the descriptor of a new file, and rename it to `file` in an open directory unless the body fails."""
    new = leftover(file)
    if is_there(fd, new):
        drop(fd, new)
    exists = is_there(fd, file)
    made = os.open(new, _NEW, 0o600, dir_fd=fd)
    try:
        yield made
        os.fchmod(made, 0o644)
        if exists:
            os.rename(new, file, src_dir_fd=fd, dst_dir_fd=fd)
        else:
            _place(fd, new, file)
    except OSError:
        drop(fd, new)
        raise
    finally:
        os.close(made)


def ours(status: os.stat_result) -> bool:
    """Return whether gpupool wrote a file: a regular file of root, which no user can create."""
    return stat.S_ISREG(status.st_mode) and status.st_uid in (os.geteuid(), _NFS_ROOT)


def is_there(fd: int, name: str) -> bool:
    """Return whether gpupool's file exists in an open directory; TakenError if the entry has another owner."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not ours(status):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something")
        raise TakenError(errno.EEXIST, f"{name} is {kind} of another owner")
    return True


def _place(fd: int, new: str, file: str) -> None:
    """Give the new file its final name, if it did not exist before; TakenError if a user has just created it."""
    try:
        os.link(new, file, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError:
        raise TakenError(errno.EEXIST, f"{file} was created by another user") from None
    except PermissionError:  # a file system without hard links
        os.rename(new, file, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        os.unlink(new, dir_fd=fd)


def drop(fd: int, name: str) -> None:
    """Remove a file from an open directory, if it exists."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=fd)


def in_kib(blocks: int) -> int:
    """Return blocks of 512 bytes in KiB, rounded up as `du -k` does."""
    return -(-blocks * _BLOCK // 1024)


def size(fd: int, file: str) -> int:
    """Return the blocks of an open directory and of gpupool's file in it."""
    own = os.fstat(fd).st_blocks
    with contextlib.suppress(OSError):
        status = os.stat(file, dir_fd=fd, follow_symlinks=False)
        own += status.st_blocks if ours(status) else 0
    return own


def get(fd: int, file: str) -> tuple[str, int] | None:
    """Return (updated, KiB) of the file in an open directory; None if it does not exist or has another owner."""
    try:
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd)
    except OSError:
        return None
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return None
        return parse(os.read(opened, _LARGEST).decode(errors="replace"))
    finally:
        os.close(opened)
