"""Queues for tests of the arbiter, and what it decides on them."""

from collections.abc import Iterable

from gpupool.programs.arbiter import decide
from gpupool.programs.arbiter.decide import Settings
from gpupool.programs.arbiter.jobs import Job
from gpupool.programs.arbiter.limits import Limit, Limits
from gpupool.programs.arbiter.room import Node, Room

# a grace time of a minute, as in nothing recorded
RULES = Settings(
    labmates=("user-overcap",),
    grace={"user-overcap": 60, "overcap": 60},
    tier={"overcap": 10, "user-overcap": 20, "short": 80},
    partition_qos={"debug": "partition-debug"},
)
NOW = 2_000_000_000


def evicted(queue: list[Job], known: Limits, nodes: list[Node], rules: Settings = RULES) -> list[decide.Decision]:
    return decide.evictions(queue, known, Room(nodes, queue, rules.grace), rules, NOW)


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
            "peculiar": False,
            "choosy": False,
        },
        **{"asks": {"cpu": 1.0, "gres/gpu": gpus}, "has": {"cpu": 1.0, "gres/gpu": gpus}},
    }
    return Job(name=name, **{**some, **other})  # type: ignore[arg-type]


def waits(name: str, **other: object) -> Job:
    """Return a job of one GPU of a labmate that waits on the lab's cap."""
    some: dict[str, object] = {
        "partitions": ("short",),
        "user": "u2",
        "states": frozenset({"PENDING"}),
        "reason": "AssocGrpGRES",
    }
    return job(name, **{**some, "start": 0, "end": 0, "has": {}, "nodes": "", **other})


def capped(queue: Iterable[Job], cap: float, account: str = "a") -> Limits:
    """Return the limits of a lab whose cap is this, and what its jobs use."""
    used = sum(job.amount("gres/gpu") for job in queue if job.account == account)
    return Limits({account: Limit({"gres/gpu": cap}, {"gres/gpu": used})}, {account: "root"}, {})


def node(gpus: float, used: float, name: str = "n1") -> Node:
    has = {"cpu": 64.0, "gres/gpu": gpus}
    return Node(name, has, {"cpu": used, "gres/gpu": used}, ("short", "long", "user-overcap"), ("a40",), away=False)
