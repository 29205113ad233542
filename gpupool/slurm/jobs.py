"""Jobs in slurmctld: the parsers of squeue's output, as columns of text and as JSON, of all supported releases.

`scontrol show job` is not used: it prints newlines in the name of a job, so a user could fake any other key.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.slurm import records, tres
from gpupool.slurm.hostlists import expand
from gpupool.slurm.times import NO_MOMENT

#: The states of a job that occupies its nodes, until its last process has ended.
ON_NODES = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED")
# squeue's letters for the columns that `read` knows; none has free text of users
_COLUMNS = {
    "%i": "id", "%T": "state", "%u": "user", "%a": "account", "%q": "qos", "%P": "partitions", "%N": "nodes",
    "%n": "needs", "%e": "ends", "%l": "limit",
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A job, a task of an array, or the pending tasks of an array, with the requested columns of squeue.

    `nodes` are allocated, `needs` were requested by name. `ends` has the form `2026-11-23T16:00:00`; "" for a job
    without a time limit. `limit` is the time limit in Slurm's form (`times.seconds`).
    """

    id: str
    user: str = ""
    account: str = ""
    nodes: tuple[str, ...] = ()
    ends: str = ""
    state: str = ""
    qos: str = ""
    partitions: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    limit: str = ""


def read(answer: str, columns: str) -> list[Job]:
    """Return the jobs in the output of `squeue -h -o COLUMNS`, such as `%i|%u|%N`; other lines are skipped.

    ValueError if a column of nodes is not a host list.
    """
    keys = [_COLUMNS[column] for column in columns.split("|")]
    rows = [line.split("|") for line in answer.split("\n")]
    return [_job(dict(zip(keys, row, strict=True))) for row in rows if len(row) == len(keys)]


def _job(row: Mapping[str, str]) -> Job:
    ends = row.get("ends", "")
    return Job(
        id=row["id"],
        user=row.get("user", ""),
        account=row.get("account", ""),
        nodes=tuple(expand(row.get("nodes", ""))),
        ends="" if ends.lower() in NO_MOMENT else ends,
        state=row.get("state", ""),
        qos=row.get("qos", ""),
        partitions=records.names(row.get("partitions", "")),
        needs=tuple(expand(row.get("needs", ""))),
        limit=row.get("limit", ""),
    )


class QueuedJob:
    """A job of `squeue --json`, which may be all pending tasks of an array.

    KeyError, TypeError or ValueError if a field is missing or has another form than in the supported releases.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    def text(self, key: str) -> str:
        """Return a field as text, "" for null."""
        value = self.fields[key]
        return "" if value is None else str(value)

    def number(self, key: str) -> int | None:
        """Return a number; None if it is not set or infinite.

        Slurm 22.05 prints a plain number, later releases an object with `set`, `infinite` and `number`.
        """
        value = self.fields[key]
        if type(value) is int:
            return value
        if isinstance(value, dict):
            if value["infinite"] or not value["set"]:
                return None
            value = value["number"]
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{key} is not a number: {value!r}")
        return int(value)

    def flag(self, key: str) -> bool:
        """Return a boolean field, which some releases print as 0 or 1."""
        value = self.fields[key]
        if value not in (True, False, 0, 1):
            raise TypeError(f"{key} is neither true nor false: {value!r}")
        return bool(value)

    @property
    def states(self) -> frozenset[str]:
        """The flags of its state: one text in 22.05 and 23.02, a list from 23.11 on."""
        states = self.fields["job_state"]
        return frozenset([states] if isinstance(states, str) else states)

    @property
    def name(self) -> str:
        """The job's id for scontrol: `12_3` for a task of an array, because `12` would be all its tasks."""
        array, task = self.number("array_job_id"), self.number("array_task_id")
        return f"{array}_{task}" if array and task is not None else self.text("job_id")

    @property
    def asks(self) -> dict[str, float]:
        """The requested TRES, memory in MiB."""
        return tres.read(self.text("tres_req_str"))

    @property
    def has(self) -> dict[str, float]:
        """The allocated TRES, memory in MiB."""
        return tres.read(self.text("tres_alloc_str"))

    @property
    def tasks(self) -> int:
        """The number of its pending tasks: `2-5,9%2` has 5, `0-8:4` has 3; 1 for a task or a job without an array.

        Slurm cuts long texts off with dots; only the tasks before the dots are counted.
        """
        if self.number("array_task_id") is not None:
            return 1
        count = 0
        for part in self._array.partition("%")[0].split(","):
            span, _, step = part.partition(":")
            first, _, last = span.partition("-")
            if first.isdecimal():
                width = int(step) if step.isdecimal() and int(step) else 1
                count += (int(last) - int(first)) // width + 1 if last.isdecimal() else 1
        return max(count, 1)

    @property
    def tasks_at_once(self) -> int:
        """The number of its pending tasks that may run at the same time: 2 for `2-5,9%2`."""
        most = self._array.partition("%")[2]
        return min(self.tasks, int(most)) if most.isdecimal() and int(most) else self.tasks

    @property
    def _array(self) -> str:
        return str(self.fields.get("array_task_string") or "")


def entries(answer: str) -> list[QueuedJob]:
    """Return the jobs of `squeue --json`; ValueError, KeyError, TypeError or AttributeError for other text."""
    return [QueuedJob(dict(job)) for job in json.loads(answer)["jobs"]]
