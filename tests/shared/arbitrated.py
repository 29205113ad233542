"""Queues for tests of the arbiter, and its decisions on them."""

from collections.abc import Iterable

from gpupool.programs.arbiter import decide, jobs
from gpupool.programs.arbiter.decide import Settings
from gpupool.programs.arbiter.jobs import Job
from gpupool.programs.arbiter.limits import Limit, Limits
from gpupool.programs.arbiter.room import Node, Room
from gpupool.slurm import queue
from gpupool.slurm.jobs import QueuedJob, entries

# a grace time of one minute, which no recorded queue has
RULES = Settings(
    labmates=("user-overcap",),
    grace={"user-overcap": 60, "overcap": 60},
    tier={"overcap": 10, "user-overcap": 20, "short": 80},
    partition_qos={"debug": "partition-debug"},
)
NOW = 2_000_000_000


def evicted(seen: list[Job], known: Limits, nodes: list[Node], rules: Settings = RULES) -> list[decide.Decision]:
    return decide.evictions(seen, known, Room(nodes, seen, rules.grace), rules, NOW)


def job(name: str, **other: object) -> Job:
    """Return a job of one GPU that runs in user-overcap for lab a."""
    gpus = float(str(other.pop("gpus", 1)))
    some = {
        **{
            "user": "u1",
            "account": "a",
            "partitions": ("user-overcap",),
            "qos": "normal",
            "states": frozenset({"RUNNING"}),
        },
        **{
            "reason": "None",
            "priority": 5000,
            "start": NOW - 1000,
            "end": NOW + 1000,
            "preempted": 0,
            "nodes": "n1",
            "node_count": 1,
        },
        **{
            "tasks": 1,
            "features": "",
            "batch": True,
            "requeue": True,
            "restarts": 0,
            "comment": "",
            "user_comment": "",
            "nice": 0,
            "peculiar": False,
            "contiguous": False,
            "required": frozenset(),
            "excluded": frozenset(),
            "shared": "",
        },
        **{"asks": {"cpu": 1.0, "gres/gpu": gpus}, "has": {"cpu": 1.0, "gres/gpu": gpus}},
    }
    return Job(name=name, **{**some, **other})  # type: ignore[arg-type]


def waits(name: str, **other: object) -> Job:
    """Return a pending job of one GPU of a labmate that waits for the lab's cap."""
    some: dict[str, object] = {
        "partitions": ("short",),
        "user": "u2",
        "states": frozenset({"PENDING"}),
        "reason": "AssocGrpGRES",
    }
    return job(name, **{**some, "start": 0, "end": 0, "has": {}, "nodes": "", **other})


def capped(seen: Iterable[Job], cap: float, account: str = "a") -> Limits:
    """Return the limits of a lab with this cap, and the usage of its jobs."""
    used = sum(job.amount("gres/gpu") for job in seen if job.account == account)
    return Limits({account: Limit({"gres/gpu": cap}, {"gres/gpu": used})}, {account: "root"}, {})


def node(gpus: float, used: float, name: str = "n1") -> Node:
    has = {"cpu": 64.0, "gres/gpu": gpus}
    return Node(name, has, {"cpu": used, "gres/gpu": used}, ("short", "long", "user-overcap"), ("a40",), away=False)


def read(text: str) -> list[Job]:
    """Return the jobs of the output of `squeue --json`, as recorded from each release."""
    return [jobs.of(QueuedJob({"nice": 0, **entry.fields})) for entry in entries(text)]


def shown(text: str, mark: str) -> str:
    """Return recorded jobs of `squeue --json` in squeue's columns, separated by `mark`."""
    lines = []
    for entry in entries(text):
        row = {key: _value(entry, key) for key in queue.COLUMNS}
        lines.append("".join(f"{value}{mark}" for value in row.values()) + "\n")
    return "".join(lines)


def mark_of(command: list[str]) -> str:
    """Return the separator of the command that shows the queue."""
    return command[-1].partition(",")[0].partition(":0")[2]


def _value(entry: QueuedJob, key: str) -> str:
    match key:
        case "array_task":
            task = entry.number("array_task_id")
            return str(task if task is not None else entry.fields["array_task_string"] or "N/A")
        case "tres":
            return entry.text("tres_alloc_str") or entry.text("tres_req_str")
        case "job_state":
            (state,) = entry.states
            return state
        case "oversubscribe":
            return "NO" if entry.fields["shared"] else "OK"
        case "exclusive":
            return ""
        case "nice":
            return str(entry.number("nice") or 0 if "nice" in entry.fields else 0)
        case "contiguous" | "batch_flag" | "requeue":
            return str(int(entry.flag(key)))
        case "start_time" | "end_time" | "preempt_time" | "priority" | "node_count" | "restart_cnt":
            return str(entry.number(key) or ("N/A" if key.endswith("_time") else 0))
        case "job_id" | "array_job_id" | "het_job_id":
            return str(entry.number(key) or "N/A")
    return entry.text(key) or "(null)"
