"""purge-soon.txt: how much of a person's directory goes in the days to come, said there before it does."""

import os
import time
from dataclasses import dataclass

from . import note

FILE = "purge-soon.txt"
_DAY, _HOUR = 86400, 3600


@dataclass
class Soon:
    """Files and links that go unless somebody changes them: how many, their KiB, and when the first one does."""

    files: int = 0
    kib: int = 0
    first: float = 0.0

    def add(self, other: "Soon") -> None:
        """Count these as well."""
        times = [entry.first for entry in (self, other) if entry.files]
        self.files, self.kib, self.first = self.files + other.files, self.kib + other.kib, min(times, default=0.0)


def text(soon: Soon, seconds: int, warn: int, now: float) -> str:
    """Return what the file says; `seconds` until what nobody changes goes, `warn` before that it is said."""
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    # what should have gone goes with the next run
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
    """Have the file in an open directory, whole or not at all; none where nothing goes. OSError where it cannot be."""
    if soon.files:
        note.write(fd, FILE, text(soon, seconds, warn, now))
    elif note.is_there(fd, FILE):
        os.unlink(FILE, dir_fd=fd)
