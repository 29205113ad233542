"""Read the queue often: columns of squeue take a twentieth of the CPU time that `--json` takes.

Each value ends with a mark, which is random for each command. Users write some values (constraints, names), and may
write newlines and separators into them, but cannot know the mark: so no value can imitate another field or job.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.slurm.jobs import QueuedJob

#: The environment of squeue: moments as seconds since 1970, and arrays whole.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"}

#: squeue's columns by their names in its JSON. ExcNodes is new in 24.11, Exclusive in 26.05: for these columns an older
# squeue prints nothing but an error message, and its exit code is 0.
COLUMNS = {
    "job_id": "JobID", "array_job_id": "ArrayJobID", "array_task": "ArrayTaskID", "het_job_id": "HetJobID",
    "user_name": "UserName", "group_name": "GroupName", "account": "Account", "partition": "Partition", "qos": "QOS",
    "job_state": "State", "state_reason": "Reason", "priority": "PriorityLong", "nice": "Nice",
    "start_time": "StartTime", "end_time": "EndTime", "preempt_time": "PreemptTime",
    "tres": "tres-alloc", "memory_per_tres": "mem-per-tres", "nodes": "NodeList", "node_count": "NumNodes",
    "features": "Feature", "required_nodes": "ReqNodes", "excluded_nodes": "ExcNodes", "contiguous": "Contiguous",
    "oversubscribe": "OverSubscribe", "exclusive": "Exclusive", "dependency": "Dependency", "licenses": "Licenses",
    "resv_name": "Reservation", "batch_flag": "BatchFlag", "requeue": "Requeue", "restart_cnt": "RestartCnt",
    "comment": "comment", "admin_comment": "admin_comment",
}  # fmt: skip
_NUMBERS = ("job_id", "array_job_id", "het_job_id", "priority", "nice", "node_count", "restart_cnt")
_MOMENTS = ("start_time", "end_time", "preempt_time")
_FLAGS = ("contiguous", "batch_flag", "requeue")
_NONE = ("", "N/A", "(null)")
# longer texts that squeue prints for a reason; they begin with the reason's name
_LONGER = re.compile(r"^(ReqNodeNotAvail|Nodes)\b.*", re.DOTALL)


@dataclass(frozen=True)
class Queue:
    """The jobs of one output of squeue, and a line about each unreadable job."""

    entries: list[QueuedJob]
    unread: list[str]


def new_mark() -> str:
    """Return a mark for one command. It begins with a letter: squeue would read a digit as part of a column's width."""
    return f"m{secrets.token_hex(8)}"


def command(mark: str) -> list[str]:
    """Return the command that prints the queue, with this mark after each value."""
    return ["squeue", "--all", "--noheader", "--Format", ",".join(f"{name}:0{mark}" for name in COLUMNS.values())]


def read(answer: str, mark: str) -> Queue:
    """Return the jobs in the output of `command`; ValueError if the output is cut off or has another mark."""
    values = answer.split(mark)
    rest = values.pop()
    if rest.strip() or len(values) % len(COLUMNS):
        raise ValueError(f"{len(values)} values for {len(COLUMNS)} columns")
    entries, unread = [], []
    for first in range(0, len(values), len(COLUMNS)):
        # a newline ends each job
        row = [values[first].removeprefix("\n"), *values[first + 1 : first + len(COLUMNS)]]
        try:
            entries.append(QueuedJob(_fields(dict(zip(COLUMNS, row, strict=True)))))
        except (ValueError, KeyError, TypeError) as error:
            unread.append(f"job {row[0][:20]}: {type(error).__name__}: {str(error)[:200]}")
    return Queue(entries, unread)


def _fields(row: Mapping[str, str]) -> dict[str, Any]:
    """Return a job's fields as squeue's JSON has them."""
    fields: dict[str, Any] = {key: "" if value in _NONE else value for key, value in row.items()}
    fields |= {key: int(row[key]) if row[key] not in _NONE else 0 for key in (*_NUMBERS, *_MOMENTS)}
    fields |= {key: bool(int(row[key])) for key in _FLAGS}
    has_nodes = bool(fields["nodes"])
    task = row["array_task"]
    return fields | {
        "array_task_id": int(task) if task.isdecimal() else None,
        "array_task_string": "" if task in _NONE or task.isdecimal() else task,
        "state_reason": _LONGER.sub(r"\1", row["state_reason"]),
        "tres_req_str": "" if has_nodes else fields["tres"],
        "tres_alloc_str": fields["tres"] if has_nodes else "",
        "shared": _shared(row["oversubscribe"], row["exclusive"]),
    }


def _shared(oversubscribe: str, exclusive: str) -> str:
    """Return how a job shares its nodes: "" as by default, `none`, `user`, `mcs`, or another word of squeue."""
    if exclusive not in ("", "NO"):
        return "none" if exclusive == "NODE" else exclusive.lower()
    if oversubscribe == "OK" or (exclusive and oversubscribe == "NO"):
        return ""
    return "none" if oversubscribe == "NO" else oversubscribe.lower()
