"""The queue as the arbiter shares it with other programs of its controller, so that one program asks slurmctld."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from gpupool.slurm.jobs import Entry

#: The directory below /run that systemd creates for the arbiter, and the file in it.
DIRECTORY = "gpupool-arbiter"
PATH = f"/run/{DIRECTORY}/queue.json"

#: The fields of a job: all users may see them, unless PrivateData hides them. Comments are not among them.
FIELDS = (
    *("job_id", "array_job_id", "array_task_id", "array_task_string", "user_name", "group_name", "account"),
    *("partition", "qos", "job_state", "state_reason", "priority", "start_time", "end_time"),
    *("tres_req_str", "tres_alloc_str", "nodes", "node_count", "restart_cnt"),
)


@dataclass(frozen=True)
class Snapshot:
    """The jobs at a time, in seconds since 1970, and for how many seconds they are good enough."""

    at: float
    lasts: float
    entries: list[Entry]

    def is_fresh(self, now: float) -> bool:
        """Return whether it is good enough; one from the future is not."""
        return 0 <= now - self.at < self.lasts


def text(entries: Iterable[Entry], at: float, lasts: float) -> str:
    """Return the content of the file."""
    rows = [[entry.fields[key] for key in FIELDS] for entry in entries]
    return json.dumps({"at": at, "lasts": lasts, "fields": FIELDS, "jobs": rows}, separators=(",", ":"))


def read(content: str) -> Snapshot:
    """Return the snapshot of a file's content; ValueError, KeyError or TypeError if it is not one."""
    data = json.loads(content)
    fields = data["fields"]
    rows = [Entry(dict(zip(fields, row, strict=True))) for row in data["jobs"]]
    return Snapshot(float(data["at"]), float(data["lasts"]), rows)
