"""The GPUs of jobs, from squeue or from the queue that the arbiter of this node has read."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.node import commands
from gpupool.node.commands import CommandError
from gpupool.node.screen import plain
from gpupool.slurm import queue, tres
from gpupool.slurm.jobs import QueuedJob

# time limit of squeue in seconds
PATIENCE = 30
#: The type of GPUs that a job requests without a type.
ANY = "any"


class QueueError(Exception):
    """The queue cannot be read; the message is the reason."""


@dataclass(frozen=True)
class Job:
    """GPUs by type and CPUs of a job, or of all tasks of an array that wait together.

    `group` is the Unix group of its user, `partition` the first of its partitions.
    """

    user: str
    account: str
    group: str
    partition: str
    running: bool
    gpus: Mapping[str, int]
    cpus: int

    @property
    def count(self) -> int:
        """GPUs of all types."""
        return sum(self.gpus.values())


def ask() -> list[QueuedJob]:
    """Return the jobs that squeue shows; QueueError if it fails, is slow, or a job cannot be read."""
    # the user's settings of squeue must not hide jobs
    env = {key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")}
    mark = queue.new_mark()
    try:
        result = commands.run(queue.command(mark), PATIENCE, env | queue.ENVIRONMENT)
        if result.code:
            raise QueueError(f"squeue: {result.reason}")
        seen = queue.read(result.output, mark)
    except CommandError as error:
        raise QueueError(f"squeue: {error.reason}") from error
    except ValueError as wrong:
        raise QueueError(f"squeue: {wrong}") from wrong
    if seen.unread:
        raise QueueError(f"squeue: {seen.unread[0]}")
    return seen.entries


def read(entries: Iterable[QueuedJob]) -> list[Job]:
    """Return the jobs that run or wait and have GPUs; QueueError if a field is missing or has another type."""
    try:
        return [job for entry in entries for job in _job(entry) if job.count]
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise QueueError(f"squeue: {type(wrong).__name__}: {wrong}") from wrong


def pack(jobs: Iterable[Job]) -> list[Any]:
    """Return jobs as short lists for JSON."""
    return [[job.user, job.account, job.group, job.partition, job.running, dict(job.gpus), job.cpus] for job in jobs]


def unpack(rows: Iterable[Any]) -> list[Job]:
    """Return the jobs from the lists of `pack`."""
    return [Job(*row) for row in rows]


def _job(entry: QueuedJob) -> Iterable[Job]:
    running = bool(entry.states & {"RUNNING", "SUSPENDED"})
    if not running and "PENDING" not in entry.states:
        return
    times = 1 if running else entry.tasks
    amounts = entry.has if running else entry.asks
    gpus = {name: count * times for name, count in tres.gpus(amounts).items()}
    whole = gpus.pop("", 0)
    if untyped := whole - sum(gpus.values()):
        gpus[ANY] = max(0, untyped)
    yield Job(
        user=plain(entry.text("user_name")),
        account=plain(entry.text("account")),
        group=plain(entry.text("group_name")),
        partition=plain(entry.text("partition")).partition(",")[0],
        running=running,
        gpus=gpus,
        cpus=int(amounts.get("cpu", 0)) * times,
    )
