"""Processes that SIGKILL does not end, because they wait for a FUSE server of their user that does not answer.

The server may wait for itself, or be outside of the job. `abort` of a FUSE connection ends all waits for it. Sources:
proc(5), and Documentation/filesystems/fuse.rst of Linux.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpupool.node.processes import PROC, Process, read

CONNECTIONS = Path("/sys/fs/fuse/connections")
_KILLED, _EXITING = 1 << 8, 0x4  # SIGKILL in the mask of pending signals; PF_EXITING in the flags of a process
_WAITS = "request_wait_answer"  # the function of the kernel in which a process waits for an answer


def stuck() -> list[Process]:
    """Return the processes of users that are to end, and wait for a FUSE server."""
    found = []
    for place in PROC.iterdir():
        # the kernel shows where a process waits without reading its memory
        if place.name.isdecimal() and _ends(place) and _WAITS in _waits(place):
            process = read(int(place.name), with_command=False)
            if process and process.uid:
                found.append(process)
    return found


def abort(process: Process, everywhere: bool) -> list[str]:
    """Abort connections of the user that the process sees as mounts, or with `everywhere` all; return their numbers."""
    mounted = set(_mounted(PROC / str(process.pid)))
    aborted = []
    with suppress(OSError):
        for connection in CONNECTIONS.iterdir():
            with suppress(OSError):
                # never a mount of root or of another user
                if connection.stat().st_uid == process.uid and (everywhere or connection.name in mounted):
                    (connection / "abort").write_text("1")
                    aborted.append(connection.name)
    return sorted(aborted)


def _ends(place: Path) -> bool:
    """Return whether a process has got SIGKILL, or exits, but has not ended."""
    try:
        fields = (place / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return False
    flags, pending = int(fields[6]), int(fields[28])  # fields 9 and 31 of proc(5)'s stat
    return bool(flags & _EXITING or pending & _KILLED)


def _waits(place: Path) -> set[str]:
    """Return the functions of the kernel in which the threads of a process wait."""
    functions = set()
    with suppress(OSError):
        for thread in (place / "task").iterdir():
            with suppress(OSError):
                functions.add((thread / "wchan").read_text())
    return functions


def _mounted(place: Path) -> Iterator[str]:
    """Yield the minor device number of each FUSE mount that a process sees: the number of its connection."""
    with suppress(OSError):
        for line in (place / "mountinfo").read_text(errors="replace").splitlines():
            before, _, after = line.partition(" - ")
            if after.startswith("fuse"):
                yield before.split()[2].partition(":")[2]
