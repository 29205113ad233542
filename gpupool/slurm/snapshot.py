"""The queue in a file that the arbiter shares with other programs on its controller: only one asks slurmctld."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from gpupool.slurm.jobs import QueuedJob

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
    """The jobs at the time `at`, in seconds since 1970; they may be used for `lasts` seconds."""

    at: float
    lasts: float
    entries: list[QueuedJob]

    def is_fresh(self, now: float) -> bool:
        """Return whether the snapshot may be used at the time `now`; False if it is from the future."""
        return 0 <= now - self.at < self.lasts


def text(entries: Iterable[QueuedJob], at: float, lasts: float) -> str:
    """Return the content of the file `PATH`."""
    rows = [[entry.fields[key] for key in FIELDS] for entry in entries]
    return json.dumps({"at": at, "lasts": lasts, "fields": FIELDS, "jobs": rows}, separators=(",", ":"))


def read(content: str) -> Snapshot:
    """Return the snapshot of a file's content; ValueError, KeyError or TypeError if it is not one."""
    data = json.loads(content)
    fields = data["fields"]
    rows = [QueuedJob(dict(zip(fields, row, strict=True))) for row in data["jobs"]]
    return Snapshot(float(data["at"]), float(data["lasts"]), rows)
