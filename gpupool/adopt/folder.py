"""The folder with the files of a cluster: only regular files inside it are read, and together only up to a size."""

import errno
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from gpupool.cluster.complaints import Complaint, Located, Place
from gpupool.errors import UsageError

_MOST = 50_000_000  # bytes of all files; a file that is included again counts again
_LEAST = 1_000  # bytes that each file counts, so that empty files cannot be included for ever
_WILD = re.compile(r"[*?[]")


class Folder:
    """The files of a cluster, by their names relative to `top`; `troubles` collects what could not be read.

    `origin` is the folder of slurm.conf on the cluster's controller, of which `top` is a copy; None if it is unknown.
    """

    def __init__(self, top: Path, origin: str | None = None) -> None:
        """UsageError if `top` is not a folder, or if its files cannot be listed."""
        try:
            if not top.is_dir():
                raise UsageError(f"{top} is not a folder; name a folder with a copy of the cluster's slurm.conf")
            next(top.iterdir(), None)
        except OSError as error:
            raise UsageError(f"{top} cannot be read: {error.strerror}") from None
        self.top = top
        self.origin = origin
        self.troubles: list[Located] = []
        self._top = top.resolve()
        self._left = _MOST
        self._known: set[tuple[Place, str]] = set()

    def complain(self, place: Place, message: str, hint: str | None = None) -> None:
        """Record what is wrong at a line, and what to do about it; once, however often its file is included."""
        if (place, message) not in self._known:
            self._known.add((place, message))
            self.troubles.append(Located(place, Complaint((), message, hint, "warning")))

    def has(self, name: str) -> bool:
        """Return whether the folder has a file of this name, or may have: `read` then reports why it is unknown."""
        try:
            return (self.top / name).is_file()
        except (OSError, ValueError) as error:  # no file has a name that is too long, or has a NUL
            return isinstance(error, OSError) and error.errno in (errno.EACCES, errno.EIO)

    def names(self, inside: str = "") -> list[str]:
        """Return the names of the files at the top of the folder, or of a folder `inside`, sorted; none without it."""
        place = self.top / inside
        try:
            return sorted(path.name for path in place.iterdir() if path.is_file()) if place.is_dir() else []
        except (OSError, ValueError):
            return []

    def find(self, named: str, beside: str) -> str | None:
        """Return the name of the file that an Include means; None if the folder lacks it.

        A relative path is relative to the folder, as Slurm reads it, or else to the file `beside`. An absolute path is
        one of the cluster: it is the file of the folder that has as many of its last parts as possible.
        """
        name = PurePosixPath(named).name
        beside_it = str(PurePosixPath(beside).parent / name) if name else ""
        return next((tail for tail in (*map(str, _tails(named)), beside_it) if tail and self.has(tail)), None)

    def find_all(self, pattern: str, beside: str) -> list[str]:
        """Return the names of the files that an include of plugstack.conf means, in the order of glob(3).

        The last part of the path may be a pattern. A relative path begins where the file `beside` is; an absolute one
        is that of `find`, but a pattern matches files at the top of the folder, such as slurm.conf, only in `origin`.
        """
        path = PurePosixPath(beside).parent / pattern
        if ".." in path.parts:
            return []
        if not is_pattern(path.name):
            found = self.find(str(path), beside)
            return [found] if found else []
        for tail in _tails(str(path)):
            if path.is_absolute() and len(tail.parts) == 1 and str(path.parent) != self.origin:
                continue
            hidden = path.name.startswith(".")
            names = [name for name in self.names(str(tail.parent)) if fnmatchcase(name, path.name)]
            if shown := [str(tail.parent / name) for name in names if hidden or not name.startswith(".")]:
                return shown
        return []

    def read(self, name: str) -> str | None:
        """Return the text of a file; None, with a trouble, if it cannot be read. Invalid UTF-8 becomes U+FFFD."""
        try:
            self._ensure_readable(name)
            data = (self.top / name).read_bytes()
        except OSError as error:
            self.complain(Place(name, 1), f"cannot be read: {error.strerror or error}")
            return None
        except (ValueError, RuntimeError) as error:  # RuntimeError: links that lead to one another
            self.complain(Place(name, 1), f"not read: {error}")
            return None
        text = data.decode("utf-8", errors="replace")
        if "\ufffd" in text:
            line = text[: text.index("\ufffd")].count("\n") + 1
            self.complain(Place(name, line), "not UTF-8; the bytes are read as U+FFFD")
        return text

    def _ensure_readable(self, name: str) -> None:
        """Raise ValueError if a file is outside the folder, is not a regular file, or is too much to read."""
        path = self.top / name
        if not path.resolve().is_relative_to(self._top):
            raise ValueError("it leads out of the folder; copy the file itself")
        if not path.is_file():
            raise ValueError("there is no such file")
        self._left -= max(path.stat().st_size, _LEAST)
        if self._left < 0:
            raise ValueError(f"the maximum of all files is {_MOST // 1_000_000} MB")


def is_pattern(path: str) -> bool:
    """Return whether a path has a sign that glob(3) reads as a pattern."""
    return bool(_WILD.search(path))


def _tails(named: str) -> list[PurePosixPath]:
    """Return the last parts of an absolute path, most parts first; a relative path as it is."""
    path = PurePosixPath(named)
    parts = path.parts[1:]
    return [PurePosixPath(*parts[start:]) for start in range(len(parts))] if path.is_absolute() else [path]
