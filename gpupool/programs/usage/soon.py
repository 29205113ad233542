"""purge-soon.txt: a warning in a user's directory of the files that the purge will remove in the next days."""

import os
import time
from dataclasses import dataclass

from . import note

FILE = "purge-soon.txt"
_DAY, _HOUR = 86400, 3600


@dataclass
class Soon:
    """Files and links that will be removed unless they are changed: number, KiB, time of the first removal."""

    files: int = 0
    kib: int = 0
    first: float = 0.0

    def add(self, other: "Soon") -> None:
        """Add the files of another directory."""
        times = [entry.first for entry in (self, other) if entry.files]
        self.files, self.kib, self.first = self.files + other.files, self.kib + other.kib, min(times, default=0.0)


def text(soon: Soon, seconds: int, warn: int, now: float) -> str:
    """Return the text of the warning.

    Files that have not changed for `seconds` are removed; the warning begins `warn` seconds earlier.
    """
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    # overdue files are removed by the next run
    first, last = (time.strftime("%Y-%m-%d", time.localtime(moment)) for moment in (max(soon.first, now), now + warn))
    age = _ago(seconds - warn)
    return (
        f"Updated: {moment}\n"
        f"By {last}, {soon.files} files and links below this directory will be removed ({note.human(soon.kib)}), the "
        f"first on {first}:\nthose that have not been changed for {_ago(seconds).removesuffix(' ago')}. To list them:\n"
        f"  find . -xdev '(' -type f -o -type l ')' ! -newermt '{age}' ! -newerct '{age}'\n"
    )


def _ago(seconds: int) -> str:
    return f"{seconds // _DAY} days ago" if seconds % _DAY == 0 else f"{seconds // _HOUR} hours ago"


def put(fd: int, soon: Soon, seconds: int, warn: int, now: float) -> None:
    """Write the warning into an open directory atomically, or remove it if no file is affected; OSError if it fails."""
    if soon.files:
        note.write(fd, FILE, text(soon, seconds, warn, now))
    elif note.is_there(fd, FILE):
        os.unlink(FILE, dir_fd=fd)
