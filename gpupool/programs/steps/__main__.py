"""`python3 -m steps`: a service on compute nodes. It ends waits that would keep an ended job on its node.

Without a clear answer of slurmctld nothing is ended: a running job may wait for a slow file server.
"""

import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

from gpupool.node import commands
from gpupool.node.processes import Process

from . import fuse, opening
from .opening import Step

_INTERVAL = 5  # seconds between two looks at the node
_GRACE = 10  # seconds in open(2) until slurmctld is asked about the job
_SLOW = 10  # time limit of a question in seconds
_QUESTIONS = 16  # maximum of questions in one look: a user may have a waiting job on each CPU
# squeue's state of a job whose end Slurm has begun, and which still occupies its node
_ENDS = "COMPLETING"


class UnsureError(Exception):
    """slurmctld does not answer, or does not know the job."""


def say(message: str) -> None:
    """Write a line for the journal."""
    print(message, flush=True)


def is_ending(job: str) -> bool:
    """Ask slurmctld whether a job is completing; UnsureError without an answer about this job."""
    command = ["squeue", "--noheader", "--states=all", "--format=%A %T", f"--jobs={job}"]
    # a setting of squeue would hide jobs
    known = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    answer = commands.output_of(command, _SLOW, UnsureError, known)
    # the number of an array also selects its other tasks
    states = [state for number, _, state in (line.partition(" ") for line in answer.splitlines()) if number == job]
    if not states:
        raise UnsureError(f"squeue prints nothing about job {job}")
    return all(state == _ENDS for state in states)


def kill(step: Step) -> bool:
    """Send SIGKILL if the slurmstepd is still the same and still waits; return whether it was sent."""
    with suppress(ProcessLookupError):
        fd = os.pidfd_open(step.process.pid)
        try:
            if any((now.process.key, now.job) == (step.process.key, step.job) for now in opening.steps()):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
                return True
        finally:
            os.close(fd)
    return False


class Watch:
    """The waiting steps of this node from look to look: when each was seen first, and when its job was asked about."""

    def __init__(self) -> None:
        self._first: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        self._problem = ""
        self._stuck: dict[str, float] = {}

    def look(self, steps: Iterable[Step], now: float) -> None:
        """Take the steps that wait `now`, in seconds of a monotonic clock; end those whose job is completing."""
        waiting = {step.process.key: step for step in steps}
        self._first = {key: self._first.get(key, now) for key in waiting}
        self._asked = {key: when for key, when in self._asked.items() if key in waiting}
        due = [key for key in waiting if now - self._first[key] >= _GRACE]
        # first the steps whose jobs were asked about longest ago
        due.sort(key=lambda key: self._asked.get(key, float("-inf")))
        problem = ""
        for key in due[:_QUESTIONS]:
            self._asked[key] = now
            step = waiting[key]
            try:
                ending = is_ending(step.job)
            except UnsureError as error:
                problem = str(error)
                continue
            if ending and kill(step):
                say(f"killed: slurmstepd (PID {step.process.pid}) of job {step.job}, which ended: it waited in open(2)")
        if problem and problem != self._problem:
            say(f"not ended: {problem}")
        self._problem = problem

    def free(self, stuck: Iterable[Process], now: float) -> None:
        """Take the processes that SIGKILL does not end `now`; abort FUSE connections of their users after the grace."""
        waiting = {process.key: process for process in stuck}
        self._stuck = {key: self._stuck.get(key, now) for key in waiting}
        for key, process in waiting.items():
            waited = now - self._stuck[key]
            # a mount may be hidden from the process that waits for it
            if waited >= _GRACE and (numbers := fuse.abort(process, everywhere=waited >= 2 * _GRACE)):
                say(f"aborted: FUSE {', '.join(numbers)} of user {process.uid}: PID {process.pid} did not end")


def main() -> int:
    """Look at the node until systemd stops the service."""
    watch = Watch()
    while True:
        watch.look(opening.steps(), time.monotonic())
        watch.free(fuse.stuck(), time.monotonic())
        time.sleep(_INTERVAL)


if __name__ == "__main__":
    sys.exit(main())
