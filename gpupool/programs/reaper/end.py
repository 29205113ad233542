"""Ends processes: SIGTERM, some time, SIGKILL; by pidfd, so that a PID which another process got is not hit."""

import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from .processes import Process, read

_AT_ONCE = 256  # file descriptors


@dataclass
class Ended:
    """What has become of processes; `stay` are those that even SIGKILL does not end, as they wait for a disk."""

    terminated: list[Process] = field(default_factory=list)
    killed: list[Process] = field(default_factory=list)
    stay: list[Process] = field(default_factory=list)


def end(processes: Sequence[Process], patience: float) -> Ended:
    """End processes that are still what they were; each of the two signals has `patience` seconds."""
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
    """Give each process with its pidfd; not one that has ended, became another, or is elsewhere now: in a job."""
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
    # one that is stopped acts on SIGTERM when it goes on
    running = _after(held, (signal.SIGTERM, signal.SIGCONT), patience)
    ended.terminated += [process for fd, process in held.items() if fd not in running]
    stay = _after(running, (signal.SIGKILL,), patience)
    ended.killed += [process for fd, process in running.items() if fd not in stay]
    ended.stay += stay.values()


def _after(held: dict[int, Process], signals: Sequence[signal.Signals], patience: float) -> dict[int, Process]:
    """Send signals and return those that have not ended within `patience` seconds."""
    poll = select.poll()
    for fd in held:
        for one in signals:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, one)
        poll.register(fd, select.POLLIN)
    running = dict(held)
    last = time.monotonic() + patience
    while running and (left := last - time.monotonic()) > 0:
        for fd, _ in poll.poll(left * 1000):
            poll.unregister(fd)
            del running[fd]
    return running
