"""The processes of a node, read from /proc."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpupool.node.screen import plain

PROC = Path("/proc")
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


def read(pid: int) -> Process | None:
    """Return a process; None if it has ended or is a zombie."""
    place = PROC / str(pid)
    try:
        stat = (place / "stat").read_bytes()
        uid = _UIDS.search((place / "status").read_bytes())
        groups = (place / "cgroup").read_text(errors="replace").splitlines()
        command = (place / "cmdline").read_bytes().split(b"\0")[:2]
    except OSError:
        return None
    name, _, rest = stat.partition(b"(")[2].rpartition(b")")
    state, parent, *others = rest.split()
    if uid is None or state in (b"Z", b"X"):
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


def present() -> list[Process]:
    """Return all present processes."""
    return list(_present())


def _present() -> Iterator[Process]:
    for place in PROC.iterdir():
        if place.name.isdecimal() and (process := read(int(place.name))):
            yield process
