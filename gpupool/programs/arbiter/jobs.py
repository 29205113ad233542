"""Jobs as `squeue --json` of Slurm 22.05 to 26.05 tells of them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}


class UnsureError(Exception):
    """Slurm said something that the arbiter does not understand; it then does nothing."""


@dataclass(frozen=True)
class Job:
    """One job, or one task of an array. Times in seconds since 1970, 0 for none; memory in MiB.

    `name` is what scontrol calls it: an array's own number would mean all of its tasks. Of a waiting array, `tasks`
    is how many may run at once. `peculiar` jobs wait for, or belong to, more than the arbiter looks at; `choosy` ones
    do not take every node that has room.
    """

    name: str
    user: str
    account: str
    partitions: tuple[str, ...]
    qos: str
    states: frozenset[str]
    reason: str
    priority: int
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
    peculiar: bool
    choosy: bool

    @property
    def running(self) -> bool:
        """Whether it runs, and is neither completing nor suspended nor starting."""
        return self.states == {"RUNNING"}

    @property
    def pending(self) -> bool:
        """Whether it waits, and was not requeued just now."""
        return self.states == {"PENDING"}

    @property
    def startable(self) -> bool:
        """Whether it waits, is not held, and needs nothing that the arbiter does not look at."""
        return self.pending and not self.peculiar and self.priority > 0

    def amount(self, resource: str) -> float:
        """Return what a running job holds of a resource."""
        return self.has.get(resource, 0)


def read(text: str) -> list[Job]:
    """Return the jobs of `squeue --json`; UnsureError where a field is missing or is not what it was."""
    try:
        data = json.loads(text)
        return [_job(entry) for entry in data["jobs"]]
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise UnsureError(f"squeue --json: {type(wrong).__name__}: {wrong}") from wrong


def tres(text: str) -> dict[str, float]:
    """Return `cpu=4,mem=30G,gres/gpu=2` as a mapping, memory in MiB."""
    amounts: dict[str, float] = {}
    for word in filter(None, text.split(",")):
        key, _, value = word.partition("=")
        if key == "mem":
            amounts[key] = float(value[:-1]) * _UNITS[value[-1]] if value[-1] in _UNITS else float(value)
        else:
            amounts[key] = float(value)
    return amounts


def _job(entry: dict[str, Any]) -> Job:
    states = entry["job_state"]
    task = _number(entry["array_task_id"])
    array = _number(entry["array_job_id"]) or 0
    # what an array has not started yet is one record for many tasks
    waiting_tasks = str(entry.get("array_task_string") or "")
    asks = tres(entry["tres_req_str"])
    _memory(entry, asks)
    return Job(
        name=f"{array}_{task}" if array and task is not None else str(entry["job_id"]),
        user=str(entry["user_name"]),
        account=str(entry["account"]),
        partitions=tuple(str(entry["partition"]).split(",")),
        qos=str(entry["qos"]),
        states=frozenset([states] if isinstance(states, str) else states),
        reason=str(entry["state_reason"]),
        priority=_number(entry["priority"]) or 0,
        start=_number(entry["start_time"]) or 0,
        end=_number(entry["end_time"]) or 0,
        preempted=_number(entry["preempt_time"]) or 0,
        asks=asks,
        has=tres(entry["tres_alloc_str"]),
        nodes=str(entry["nodes"]),
        node_count=_number(entry["node_count"]) or 1,
        tasks=_tasks(waiting_tasks) if task is None else 1,
        features=str(entry["features"]),
        batch=_flag(entry["batch_flag"]),
        requeue=_flag(entry["requeue"]),
        restarts=_number(entry["restart_cnt"]) or 0,
        comment=str(entry["admin_comment"] or ""),
        peculiar=_peculiar(entry, runs="RUNNING" in states),
        choosy=bool(entry["required_nodes"] or entry["excluded_nodes"] or entry["contiguous"] or entry.get("shared")),
    )


def _peculiar(entry: dict[str, Any], *, runs: bool) -> bool:
    """Return whether a job is one of several, has a reservation, or waits for more than room and limits.

    What it waited for is over once it runs, and any user may name a dependency or a license: such a job leaves like
    others.
    """
    if _number(entry["het_job_id"]) or entry["resv_name"]:
        return True
    return bool(entry["dependency"] or entry.get("hold") or entry["licenses"]) and not runs


def _memory(entry: dict[str, Any], asks: dict[str, float]) -> None:
    """Correct the memory asked for: of a job with memory by GPU, Slurm 24.11 gives the node's as long as it waits."""
    by_gpu = re.findall(r":(\d+)(?=,|$)", str(entry["memory_per_tres"] or ""))
    if by_gpu:
        asks["mem"] = float(max(map(int, by_gpu))) * asks.get("gres/gpu", 0)


def _tasks(text: str) -> int:
    """Return how many tasks of `2-5,9%2` may run at once; Slurm cuts long texts off with dots, what is left counts."""
    tasks, _, most = text.partition("%")
    count = 0
    for part in filter(None, tasks.split(",")):
        first, _, last = part.partition(":")[0].partition("-")
        if first.isdigit():
            count += int(last) - int(first) + 1 if last.isdigit() else 1
    count = max(count, 1)
    return min(count, int(most)) if most.isdigit() and int(most) else count


def _number(value: object) -> int | None:
    """Return a number as every version writes it: plain, or with the words set and infinite around it."""
    if isinstance(value, dict):
        if value["infinite"] or not value["set"]:
            return None
        value = value["number"]
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"no number: {value!r}")
    return int(value)


def _flag(value: object) -> bool:
    if value not in (True, False, 0, 1):
        raise TypeError(f"neither true nor false: {value!r}")
    return bool(value)
