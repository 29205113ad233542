"""Jobs as slurmctld knows them: the one reader of squeue, as columns of text and as JSON, of all supported releases.

`scontrol show job` is not read: it prints the name of a job with the newlines that a user wrote into it, so that a name
can pass for any other key.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpupool.slurm import records, tres
from gpupool.slurm.hostlists import expand
from gpupool.slurm.times import NO_MOMENT

#: The states of a job that has its nodes, its last processes included.
ON_NODES = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED")
# squeue's letters for the columns that `read` knows; none is text that a user writes as they like
_COLUMNS = {
    "%i": "id", "%T": "state", "%u": "user", "%a": "account", "%q": "qos", "%P": "partitions", "%N": "nodes",
    "%n": "needs", "%e": "ends", "%l": "limit",
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """A job, one task of an array, or the pending rest of an array, with what was asked for of squeue's columns.

    `nodes` it has, `needs` are those that it named when it was submitted. `ends` is `2026-11-23T16:00:00`, or "" for a
    job without a time limit. `limit` is the time limit as Slurm prints it (`times.seconds`).
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
    """Return the jobs of `squeue -h -o COLUMNS`, such as `%i|%u|%N`; other lines are left out.

    ValueError where a column of nodes is not a host list.
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


class Entry:
    """One job of `squeue --json`, which may be the many pending tasks of an array.

    KeyError, TypeError or ValueError where a field is missing or has another form than in the supported releases.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields

    def text(self, key: str) -> str:
        """Return a field as text, "" for null."""
        value = self.fields[key]
        return "" if value is None else str(value)

    def number(self, key: str) -> int | None:
        """Return a number; None where it is not set or infinite.

        Releases write it plain (22.05) or as an object of `set`, `infinite` and `number`.
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
        """Return a field that is true or false, which some releases write as 0 or 1."""
        value = self.fields[key]
        if value not in (True, False, 0, 1):
            raise TypeError(f"{key} is neither true nor false: {value!r}")
        return bool(value)

    @property
    def states(self) -> frozenset[str]:
        """The words of its state: one text in 22.05, a list from 23.02 on."""
        states = self.fields["job_state"]
        return frozenset([states] if isinstance(states, str) else states)

    @property
    def name(self) -> str:
        """The name of the job for scontrol: `12_3` for a task of an array; the number alone would mean all tasks."""
        array, task = self.number("array_job_id"), self.number("array_task_id")
        return f"{array}_{task}" if array and task is not None else self.text("job_id")

    @property
    def asks(self) -> dict[str, float]:
        """The TRES that it asks for, memory in MiB."""
        return tres.read(self.text("tres_req_str"))

    @property
    def has(self) -> dict[str, float]:
        """The TRES that it has, memory in MiB."""
        return tres.read(self.text("tres_alloc_str"))

    @property
    def tasks(self) -> int:
        """How many pending tasks it stands for: `2-5,9%2` and `0-8:4` are 5 and 3; 1 for a task or a job alone.

        Slurm cuts long texts off with dots; the rest counts.
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
        """How many of its pending tasks may run at once: `2-5,9%2` are 2."""
        most = self._array.partition("%")[2]
        return min(self.tasks, int(most)) if most.isdecimal() and int(most) else self.tasks

    @property
    def _array(self) -> str:
        return str(self.fields.get("array_task_string") or "")


def entries(answer: str) -> list[Entry]:
    """Return the jobs of `squeue --json`; ValueError, KeyError, TypeError or AttributeError for any other text."""
    return [Entry(dict(job)) for job in json.loads(answer)["jobs"]]
