"""Jobs with GPUs as `squeue --json` of Slurm 22.05 to 26.05 tells of them."""

import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# seconds that squeue may take
PATIENCE = 30
#: The type of GPUs that a job asks for without a type.
ANY = "any"


class QueueError(Exception):
    """What the queue holds cannot be told; the message says why."""


@dataclass(frozen=True)
class Job:
    """GPUs by type and CPUs of a job, or of all tasks of an array that wait together.

    `group` is the Unix group of its user, `partition` the first of those that it names if it is pending.
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


def ask() -> str:
    """Return what `squeue --json` prints; QueueError where it fails or is slow."""
    # a user's own settings must not filter it, and the tasks of a long array must not be cut off
    env = {key: value for key, value in os.environ.items() if not key.startswith("SQUEUE_")}
    env["SLURM_BITSTR_LEN"] = "0"
    try:
        done = subprocess.run(
            ["squeue", "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
            env=env,
        )
    except subprocess.TimeoutExpired as slow:
        raise QueueError(f"squeue: no answer within {PATIENCE} s") from slow
    except OSError as gone:
        raise QueueError(f"squeue: {gone.strerror}") from gone
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()
        raise QueueError(last[-1] if last else f"squeue: exit code {done.returncode}")
    return done.stdout


def read(text: str) -> list[Job]:
    """Return the jobs that run or wait and have GPUs; QueueError where a field is missing or is not what it was."""
    try:
        entries = json.loads(text)["jobs"]
        return [job for entry in entries for job in _job(entry) if job.count]
    except (ValueError, KeyError, TypeError, AttributeError) as wrong:
        raise QueueError(f"squeue --json: {type(wrong).__name__}: {wrong}") from wrong


def pack(jobs: Iterable[Job]) -> list[Any]:
    """Return jobs as short lists for JSON."""
    return [[it.user, it.account, it.group, it.partition, it.running, dict(it.gpus), it.cpus] for it in jobs]


def unpack(rows: Iterable[Any]) -> list[Job]:
    """Return the jobs of such lists."""
    return [Job(*row) for row in rows]


def _job(entry: dict[str, Any]) -> Iterable[Job]:
    states = entry["job_state"]
    states = {states} if isinstance(states, str) else set(states)
    running = bool(states & {"RUNNING", "SUSPENDED"})
    if not running and "PENDING" not in states:
        return
    times = 1 if running else _tasks(entry)
    amounts = _amounts(entry["tres_alloc_str" if running else "tres_req_str"])
    gpus = {key.partition(":")[2]: n * times for key, n in amounts.items() if key.startswith("gres/gpu:")}
    if untyped := amounts.get("gres/gpu", 0) * times - sum(gpus.values()):
        gpus[ANY] = max(0, untyped)
    yield Job(
        user=_plain(entry["user_name"]),
        account=_plain(entry["account"]),
        group=_plain(entry["group_name"]),
        partition=_plain(entry["partition"]).partition(",")[0],
        running=running,
        gpus=gpus,
        cpus=amounts.get("cpu", 0) * times,
    )


def _plain(text: object) -> str:
    """Return a name that a terminal takes for nothing else."""
    return "".join(sign if sign.isprintable() else "?" for sign in str(text))


def _amounts(text: str) -> dict[str, int]:
    """Return the whole numbers of `cpu=4,mem=30G,gres/gpu:a40=2`."""
    pairs = (word.partition("=") for word in text.split(","))
    return {key: int(value) for key, _, value in pairs if value.isdigit()}


def _tasks(entry: dict[str, Any]) -> int:
    """Return how many tasks wait in one record of an array: `2-5,9%2` and `0-8:4` are 5 and 3."""
    task = entry["array_task_id"]
    if task["set"] if isinstance(task, dict) else task is not None:
        return 1
    count = 0
    for part in str(entry["array_task_string"] or "").partition("%")[0].split(","):
        span, _, step = part.partition(":")
        first, _, last = span.partition("-")
        if first.isdigit():
            count += (int(last) - int(first)) // int(step or 1) + 1 if last.isdigit() else 1
    return max(count, 1)
