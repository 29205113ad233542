"""Jobs of the queue, with the fields that the arbiter needs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpupool.slurm import queue
from gpupool.slurm.hostlists import expand
from gpupool.slurm.jobs import QueuedJob


class UnsureError(Exception):
    """The arbiter cannot read an answer of Slurm; it then does nothing."""


@dataclass(frozen=True)
class Job:
    """One job, or one task of an array. Times in seconds since 1970, 0 for none; memory in MiB.

    `name` is scontrol's name of it: the number of an array alone would mean all of its tasks. `tasks` is how many tasks
    of a pending array may run at once. `required` and `excluded` are nodes; `shared` is how it shares its nodes, "" by
    default. A `peculiar` job waits for, or belongs to, something that the arbiter does not consider.
    """

    name: str
    user: str
    account: str
    partitions: tuple[str, ...]
    qos: str
    states: frozenset[str]
    reason: str
    priority: int
    nice: int
    start: int
    end: int
    preempted: int
    asks: Mapping[str, float]
    has: Mapping[str, float]
    nodes: str
    node_count: int
    tasks: int
    features: str
    batch: bool
    requeue: bool
    restarts: int
    comment: str
    user_comment: str
    peculiar: bool
    contiguous: bool
    required: frozenset[str]
    excluded: frozenset[str]
    shared: str

    @property
    def running(self) -> bool:
        """Whether it runs, and is neither completing nor suspended nor starting."""
        return self.states == {"RUNNING"}

    @property
    def pending(self) -> bool:
        """Whether it waits, and was not requeued just now."""
        return self.states == {"PENDING"}

    @property
    def choosy(self) -> bool:
        """Whether it can only use some of the nodes that have room."""
        return bool(self.contiguous or self.required or self.excluded or self.shared)

    @property
    def wish(self) -> tuple[object, ...]:
        """The properties that decide whether it can start, except its turn: jobs with equal ones find equal room."""
        return (
            *(self.account, self.user, self.qos, self.partitions, frozenset(self.asks.items()), self.node_count),
            *(self.features, self.required, self.excluded, self.contiguous, self.shared),
        )

    @property
    def startable(self) -> bool:
        """Whether it waits, is not held, and needs nothing that the arbiter does not consider."""
        return self.pending and not self.peculiar and self.priority > 0

    def amount(self, resource: str) -> float:
        """Return what a running job holds of a resource."""
        return self.has.get(resource, 0)


@dataclass(frozen=True)
class Seen:
    """The jobs of one reading of the queue, a line for each unreadable job, and the entries of the readable jobs."""

    jobs: list[Job]
    unread: list[str]
    entries: Sequence[QueuedJob] = ()


def read(answer: str, mark: str) -> Seen:
    """Return the jobs that squeue shows; UnsureError if its answer is cut off. An unreadable job is left out."""
    try:
        seen = queue.read(answer, mark)
    except ValueError as wrong:
        raise UnsureError(f"squeue: {wrong}") from wrong
    known, unread = [], list(seen.unread)
    for entry in seen.entries:
        try:
            known.append(of(entry))
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            unread.append(f"job {entry.name}: {type(wrong).__name__}: {str(wrong)[:200]}")
    return Seen(known, unread, seen.entries)


def of(entry: QueuedJob) -> Job:
    """Return a job of the queue; ValueError, KeyError or TypeError if a field is missing or has another type."""
    return Job(
        name=entry.name,
        user=entry.text("user_name"),
        account=entry.text("account"),
        partitions=tuple(entry.text("partition").split(",")),
        qos=entry.text("qos"),
        states=entry.states,
        reason=entry.text("state_reason"),
        priority=entry.number("priority") or 0,
        nice=entry.number("nice") or 0,
        start=entry.number("start_time") or 0,
        end=entry.number("end_time") or 0,
        preempted=entry.number("preempt_time") or 0,
        asks=_asks(entry),
        has=entry.has,
        nodes=entry.text("nodes"),
        node_count=entry.number("node_count") or 1,
        tasks=entry.tasks_at_once,
        features=entry.text("features"),
        batch=entry.flag("batch_flag"),
        requeue=entry.flag("requeue"),
        restarts=entry.number("restart_cnt") or 0,
        comment=entry.text("admin_comment"),
        user_comment=entry.text("comment"),
        peculiar=_peculiar(entry),
        contiguous=bool(entry.fields["contiguous"]),
        required=frozenset(expand(entry.text("required_nodes"))),
        excluded=frozenset(expand(entry.text("excluded_nodes"))),
        shared=_shared(entry),
    )


def _shared(entry: QueuedJob) -> str:
    shared = entry.fields.get("shared")
    return ",".join(shared) if isinstance(shared, list) else str(shared or "")


def _peculiar(entry: QueuedJob) -> bool:
    """Return whether a job is part of a heterogeneous job, has a reservation, or waits for more than room and limits.

    A running job no longer waits for its dependency or license. Any user may name these, so such a job is evicted like
    others.
    """
    if entry.number("het_job_id") or entry.fields["resv_name"]:
        return True
    waits_for = (entry.fields["dependency"], entry.fields.get("hold"), entry.fields["licenses"])
    return any(waits_for) and "RUNNING" not in entry.states


def _asks(entry: QueuedJob) -> dict[str, float]:
    """Return the requests of a job; Slurm 24.11 shows the node's memory while a job with memory by GPU is pending."""
    asks = entry.asks
    by_gpu = re.findall(r":(\d+)(?=,|$)", entry.text("memory_per_tres"))
    if by_gpu:
        asks["mem"] = float(max(map(int, by_gpu))) * asks.get("gres/gpu", 0)
    return asks
