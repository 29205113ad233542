"""End processes with SIGTERM, then SIGKILL. Signals are sent by pidfd: a PID may be reused by another process."""

import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from gpupool.node.processes import Process, read

_AT_ONCE = 256  # file descriptors


@dataclass
class Ended:
    """Processes by result; `alive` after SIGKILL are processes that wait for a disk in the kernel."""

    terminated: list[Process] = field(default_factory=list)
    killed: list[Process] = field(default_factory=list)
    alive: list[Process] = field(default_factory=list)


def end(processes: Sequence[Process], patience: float) -> Ended:
    """End processes that have not changed since they were read; wait up to `patience` seconds after each signal."""
    ended = Ended()
    for first in range(0, len(processes), _AT_ONCE):
        held: dict[int, Process] = {}
        try:
            held.update(_hold(processes[first : first + _AT_ONCE]))
            _end(held, patience, ended)
        finally:
            for fd in held:
                os.close(fd)
    return ended


def _hold(processes: Sequence[Process]) -> Iterator[tuple[int, Process]]:
    """Yield each process with its pidfd, except processes that have ended, or changed their user or control group."""
    for process in processes:
        try:
            fd = os.pidfd_open(process.pid)
        except ProcessLookupError:
            continue
        now = read(process.pid)
        if now and (now.key, now.uid, now.groups) == (process.key, process.uid, process.groups):
            yield fd, process
        else:
            os.close(fd)


def _end(held: dict[int, Process], patience: float, ended: Ended) -> None:
    # a stopped process handles SIGTERM only after SIGCONT
    running = _after(held, (signal.SIGTERM, signal.SIGCONT), patience)
    ended.terminated += [process for fd, process in held.items() if fd not in running]
    alive = _after(running, (signal.SIGKILL,), patience)
    ended.killed += [process for fd, process in running.items() if fd not in alive]
    ended.alive += alive.values()


def _after(held: dict[int, Process], signals: Sequence[signal.Signals], patience: float) -> dict[int, Process]:
    """Send signals and return the processes that have not ended within `patience` seconds."""
    poll = select.poll()
    for fd in held:
        for number in signals:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, number)
        poll.register(fd, select.POLLIN)
    running = dict(held)
    last = time.monotonic() + patience
    while running and (left := last - time.monotonic()) > 0:
        for fd, _ in poll.poll(left * 1000):
            poll.unregister(fd)
            del running[fd]
    return running
