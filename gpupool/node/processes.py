"""The processes of a node, read from /proc."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpupool.node.screen import plain

PROC = Path("/proc")
_ENDED = (b"Z", b"X")  # states of proc(5)'s stat
_TICKS = os.sysconf("SC_CLK_TCK")
_UIDS = re.compile(rb"^Uid:\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Process:
    """One process: `began` in seconds since boot, `uid` the real uid, `groups` its path in each cgroup hierarchy.

    `exe` is its executable, "" if that cannot be read; `command` are the first two words of its command line.
    """

    pid: int
    parent: int
    began: float
    uid: int
    name: str
    groups: tuple[str, ...]
    exe: str = ""
    command: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The identity of a process until the next boot: its PID, which may be reused, and its start."""
        return f"{self.pid}:{self.began:.2f}"


def read(pid: int, user: int | None = None, with_command: bool = True) -> Process | None:
    """Return a process; None if it has ended, is a zombie, or has another real uid than `user`.

    To read a command line, the kernel reads the memory of its process. If that memory is a file of a FUSE server that
    does not answer, the reader waits for good; so without `with_command` the command is empty.
    """
    place = PROC / str(pid)
    try:
        stat = (place / "stat").read_bytes()
        uid = _UIDS.search((place / "status").read_bytes())
        if user is not None and (uid is None or int(uid[1]) != user):
            return None
        groups = (place / "cgroup").read_text(errors="replace").splitlines()
        command = (place / "cmdline").read_bytes().split(b"\0")[:2] if with_command else []
    except OSError:
        return None
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    state, parent, *others = rest.split()
    if uid is None or state in _ENDED:
        return None
    try:
        exe = str((place / "exe").readlink())
    except OSError:
        exe = ""  # kernel threads have none
    return Process(
        pid,
        int(parent),
        int(others[17]) / _TICKS,  # field 22 of proc(5)'s stat
        int(uid[1]),
        # users choose names of processes: no control characters in the log
        plain(name.decode(errors="replace")),
        tuple(line.split(":", 2)[2] for line in groups if line.count(":") >= 2),
        exe,
        tuple(word.decode(errors="replace") for word in command),
    )


def present(user: int | None = None, with_commands: bool = True) -> list[Process]:
    """Return all present processes, or those with this real uid: then the memory of no other process is read.

    Without `with_commands`, no memory is read (see `read`).
    """
    return [process for pid in _pids() if (process := read(pid, user, with_commands))]


def parents() -> set[int]:
    """Return the PIDs of processes that have a child which is not a zombie."""
    found = set()
    for pid in _pids():
        with suppress(OSError):
            state, parent, *_ = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
            if state not in _ENDED:
                found.add(int(parent))
    return found


def _pids() -> Iterator[int]:
    return (int(place.name) for place in PROC.iterdir() if place.name.isdecimal())
