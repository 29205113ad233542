"""Steps whose slurmstepd waits in open(2), as for a FIFO without a partner, before it has started a task.

slurmstepd opens the files of `--output`, `--error` and `--input` as the user, and such a wait ends neither with the job
nor with SIGTERM. Until that slurmstepd has ended, its job is completing, and Slurm starts no job on the node.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass

from gpupool.node import processes
from gpupool.node.processes import PROC, Process

_TITLE = re.compile(r"slurmstepd: \[(\d+)\.")
# numbers of open, openat and openat2 in Linux' tables of system calls
_OPENS = {"x86_64": ("2", "257", "437"), "aarch64": ("56", "437")}.get(os.uname().machine, ())


@dataclass(frozen=True)
class Step:
    """A slurmstepd that waits, and the number of its job in slurmctld."""

    process: Process
    job: str


def steps() -> list[Step]:
    """Return the steps of this node whose slurmstepd has no child, and waits in open(2)."""
    # the uid is checked because users can choose a title
    roots = processes.present(user=0)
    titles = [(process, _TITLE.match(process.command[0])) for process in roots if process.command]
    waiting = [Step(process, title[1]) for process, title in titles if title and _opens(process.pid)]
    parents = processes.parents() if waiting else set()
    return [step for step in waiting if step.process.pid not in parents]


def _opens(pid: int) -> bool:
    """Return whether a thread of a process waits in open(2)."""
    with suppress(OSError):
        for thread in (PROC / str(pid) / "task").iterdir():
            # a thread may end in between; the file of a running one says so
            with suppress(OSError):
                if (thread / "syscall").read_text().partition(" ")[0] in _OPENS:
                    return True
    return False
