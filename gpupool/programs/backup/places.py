"""Backups in a folder: their names, atomic writing, checksums, and the removal of the oldest."""

import calendar
import errno
import hashlib
import os
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

_NAME = re.compile(r"(database|state)-(\d{8}T\d{6}Z)\.(?:sql|tar)\.gz")
_ENDINGS = {"database": "sql.gz", "state": "tar.gz"}
_TIME = "%Y%m%dT%H%M%SZ"
_PART = ".part"
_BLOCK = 1 << 20  # bytes that are read at once
RESERVE = 256 << 20  # bytes that a backup leaves free on its file system


class Failed(Exception):  # noqa: N818  # a reason for an admin
    """A backup could not be made or is damaged; the message is the reason."""


@dataclass(frozen=True)
class Backup:
    """A complete backup; `made` in seconds since 1970, `size` in bytes."""

    kind: str
    path: Path
    made: int
    size: int

    def is_good(self) -> bool:
        """Return whether the file matches the checksum beside it."""
        try:
            recorded = _sum_of(self.path).read_text().split()
            sha = hashlib.sha256()
            with self.path.open("rb") as file:
                while block := file.read(_BLOCK):
                    sha.update(block)
        except OSError:
            return False
        return recorded[:1] == [sha.hexdigest()]


def backups(folder: Path, kind: str) -> list[Backup]:
    """Return the complete backups of a kind in a folder, the newest first."""
    return sorted(_backups(folder, kind), key=lambda backup: backup.made, reverse=True)


def _backups(folder: Path, kind: str) -> Iterator[Backup]:
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match and match[1] == kind and _sum_of(path).exists():
            yield Backup(kind, path, _moment(match[2]), path.stat().st_size)


def keep(folder: Path, kind: str, number: int) -> list[str]:
    """Remove all but the newest `number` backups of a kind, and return the names of the removed ones."""
    surplus = backups(folder, kind)[number:]
    for old in surplus:
        # the checksum first: without it the file is no backup, also if this run is killed here
        _sum_of(old.path).unlink(missing_ok=True)
        old.path.unlink(missing_ok=True)
    return [old.path.name for old in surplus]


class Writing:
    """A backup that is being written: compressed, with its checksum, and under its name only when it is complete.

    `needed` is its expected size in bytes. Writing fails, at the start or later, before it fills the disk.
    """

    def __init__(self, folder: Path, kind: str, now: float, needed: int) -> None:
        stamp = time.strftime(_TIME, time.gmtime(now))
        self.path = folder / f"{kind}-{stamp}.{_ENDINGS[kind]}"
        self._part = folder / f".{self.path.name}{_PART}"
        self._folder, self._sha, self.size = folder, hashlib.sha256(), 0
        if not folder.is_dir():
            raise Failed(f"{folder} does not exist: gpupool apply creates it")
        _clear(folder, kind)
        if (free := _free(folder)) < needed + RESERVE:
            raise Failed(
                f"{folder} has {free >> 20} MiB free, and {needed + RESERVE >> 20} MiB are needed: make room there"
            )
        self._fd = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        self._gzip = zlib.compressobj(6, zlib.DEFLATED, 31)  # 31: with gzip's header and checksum

    def write(self, data: bytes) -> int:
        """Compress and write data; it has the signature of a file's `write`, for tarfile."""
        self._put(self._gzip.compress(data))
        return len(data)

    def _put(self, data: bytes) -> None:
        self._sha.update(data)
        before, self.size = self.size, self.size + len(data)
        if before >> 24 != self.size >> 24 and _free(self._folder) < RESERVE:
            raise Failed(f"{self._folder} has become full: the incomplete backup was removed")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def finish(self) -> Backup:
        """Write the checksum to disk, then rename the backup to its name: without a checksum it is no backup."""
        self._put(self._gzip.flush())
        os.fsync(self._fd)
        with open(_sum_of(self.path), "x", opener=_private) as file:
            file.write(f"{self._sha.hexdigest()}  {self.path.name}\n")
            file.flush()
            os.fsync(file.fileno())
        self._part.rename(self.path)
        _sync(self._folder)
        return Backup(self.path.name.partition("-")[0], self.path, _moment_of(self.path), self.size)

    def __enter__(self) -> "Writing":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove an unfinished backup."""
        os.close(self._fd)
        if not self.path.exists():
            for path in (self._part, _sum_of(self.path)):
                with suppress(OSError):
                    path.unlink()


def _clear(folder: Path, kind: str) -> None:
    """Remove leftovers of killed runs of a kind: incomplete backups, and checksums without a backup."""
    for path in list(folder.iterdir()):
        if path.name.startswith(f".{kind}-") and path.name.endswith(_PART):
            path.unlink(missing_ok=True)
        if path.name.startswith(f"{kind}-") and path.suffix == ".sha256" and not path.with_suffix("").exists():
            path.unlink(missing_ok=True)


def _sum_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _free(folder: Path) -> int:
    stats = os.statvfs(folder)
    return stats.f_bavail * stats.f_frsize


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system without fsync of folders
            raise
    finally:
        os.close(fd)


def _moment(text: str) -> int:
    return calendar.timegm(time.strptime(text, _TIME))


def _moment_of(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    assert match
    return _moment(match[2])
