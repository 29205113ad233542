"""The processes of a node as /proc has them; Linux's own files and nothing else."""

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
    """One process: `began` is in seconds since boot, `uid` the real one, `groups` its paths by control group hierarchy.

    `exe` is the file that it runs, "" where that cannot be read; `command` are the first two of its command line.
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
        """What no other process of this boot has, though it may get the same PID."""
        return f"{self.pid}:{self.began:.2f}"


def read(pid: int) -> Process | None:
    """Return a process; None if it has ended, or only waits for its parent to notice that it has."""
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
        exe = ""  # the kernel's own have none
    return Process(
        pid,
        int(parent),
        int(others[17]) / _TICKS,  # field 22 of proc(5)'s stat
        int(uid[1]),
        # whoever runs a program chooses its name: no line feeds and the like in a log
        plain(name.decode(errors="replace")),
        tuple(line.split(":", 2)[2] for line in groups if line.count(":") >= 2),
        exe,
        tuple(word.decode(errors="replace") for word in command),
    )


def all_of_them() -> list[Process]:
    """Return the processes that there are now."""
    return list(_all())


def _all() -> Iterator[Process]:
    for place in PROC.iterdir():
        if place.name.isdecimal() and (process := read(int(place.name))):
            yield process
