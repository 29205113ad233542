"""The limits of a job, calculated from the inventory and Slurm's AllocTRES, without code of the plugin or the guard."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ClusterShell.NodeSet import NodeSet

from gpupool.cluster.model import Cluster

_UNITS = {"": 1, "K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
#: Fields of a row, in the order of the program in the container.
_FIELDS = (
    *("job", "array", "het", "state", "user", "account", "partition", "qos", "priority", "nice"),
    *("tres", "nodes", "start", "limit", "restarts", "reason", "note"),
)
HELD = frozenset({"RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED"})


@dataclass(frozen=True)
class Row:
    """A job in one look. Memory is in MiB, times are seconds; `limit` is None without a time limit."""

    job: str
    case: str
    state: str
    user: str
    account: str
    partition: str
    qos: str
    priority: int
    nice: int
    cpus: int
    gpus: int
    gpus_by_type: Mapping[str, int]
    memory: float
    nodes: tuple[str, ...]
    start: str
    limit: float | None
    restarts: int
    reason: str
    note: str

    @property
    def holds(self) -> bool:
        """Whether the job has resources."""
        return self.state in HELD

    @property
    def shown(self) -> str:
        """Return what the job holds."""
        return (
            f"cpu={self.cpus},mem={self.memory:.0f}M,gpu={self.gpus} on {','.join(self.nodes)}, partition "
            f"{self.partition}, priority {self.priority}, nice {self.nice}"
        )


def row(values: list[str]) -> Row:
    """Return a job from the texts of squeue's columns."""
    texts = dict(zip(_FIELDS, values, strict=True))
    tres = dict(word.split("=", 1) for word in texts["tres"].split(",") if "=" in word)
    leader = next((texts[key] for key in ("het", "array") if texts[key] not in ("", "0", "N/A")), texts["job"])
    return Row(
        texts["job"],
        leader,
        texts["state"],
        texts["user"],
        texts["account"],
        texts["partition"],
        texts["qos"],
        int(texts["priority"]),
        int(texts["nice"]),
        int(tres.get("cpu", "0")),
        int(tres.get("gres/gpu", "0")),
        {key.removeprefix("gres/gpu:"): int(count) for key, count in tres.items() if key.startswith("gres/gpu:")},
        _mebibytes(tres.get("mem", "0")),
        tuple(NodeSet(texts["nodes"])) if texts["nodes"] not in ("", "(null)", "N/A") else (),
        texts["start"],
        _seconds(texts["limit"]),
        int(texts["restarts"]),
        texts["reason"],
        texts["note"],
    )


def _mebibytes(text: str) -> float:
    match = re.fullmatch(r"([0-9.]+)([A-Z]?)", text)
    assert match, text
    return float(match[1]) * _UNITS[match[2]]


def _seconds(text: str) -> float | None:
    if not re.fullmatch(r"(\d+-)?[\d:]+", text):
        return None
    days, _, clock = text.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return total + int(days or 0) * 86400


class Reckoning:
    """The limits of an inventory."""

    def __init__(self, cluster: Cluster, conf: str) -> None:
        """Take the limits of a cluster; `conf` is its slurm.conf, which has the weights of a priority."""
        most = cluster.scheduler.max_memory
        self.per_gpu: dict[str, float] = {"default": float("inf"), **(most.per_gpu or {})}
        self.per_cpu = most.per_cpu or float("inf")
        self.cpus = {node.slurm_name: node.hardware.cpus for node in cluster.having("compute") if node.hardware}
        share = cluster.scheduler.lab_share
        self.caps: dict[str, dict[str, float]] = {}
        for name, account in cluster.accounts.items():
            if account.entry.kind == "lab" and account.entry.contributed_gpus is not None:
                gpus = account.entry.contributed_gpus
                self.caps[name] = {"gpus": gpus, **({"cpus": share.cpu * gpus} if share and share.cpu else {})}
        self.partitions = cluster.partitions
        self.highest = 1 + sum(int(weight) for weight in re.findall(r"^PriorityWeight\w+=(\d+)", conf, re.MULTILINE))

    def excess(self, job: Row) -> Iterator[str]:
        """Yield a text for each limit that a job exceeds."""
        if job.priority > self.highest or (job.nice < 0 < job.priority):
            yield f"priority {job.priority} with nice {job.nice}, at most {self.highest} is possible"
        if not job.holds or job.user == "root":
            return
        whole = job.nodes and job.cpus >= sum(self.cpus[name] for name in job.nodes)
        # a GPU whose type Slurm does not count may be any
        untyped = max(0, job.gpus - sum(job.gpus_by_type.values()))
        allowed = sum(count * self._of_gpu(kind) for kind, count in job.gpus_by_type.items())
        allowed += untyped * max(self.per_gpu.values()) if untyped else 0
        allowed = allowed if job.gpus else job.cpus * self.per_cpu
        if not whole and job.memory > allowed:
            yield f"{job.memory:.0f}M of memory, {allowed:.0f}M are allowed"
        place = self.partitions[job.partition]
        if (place.allow_accounts and job.account not in place.allow_accounts) or job.account in place.deny_accounts:
            yield f"account {job.account} in partition {job.partition}"
        longest = place.entry.max_time
        if longest is not None and (job.limit is None or job.limit > longest):
            yield f"time limit of {job.limit} s, at most {longest} s"

    def _of_gpu(self, kind: str) -> float:
        return self.per_gpu.get(kind, self.per_gpu["default"])

    def of_accounts(self, jobs: Iterable[Row]) -> Iterator[tuple[str, str]]:
        """Yield accounts that have more than their cap, and what they have."""
        held: dict[str, dict[str, int]] = {name: {"gpus": 0, "cpus": 0} for name in self.caps}
        for job in jobs:
            if job.holds and job.account in held:
                held[job.account]["gpus"] += job.gpus
                held[job.account]["cpus"] += job.cpus
        for name, caps in self.caps.items():
            for resource, cap in caps.items():
                if held[name][resource] > cap:
                    yield name, f"{held[name][resource]} {resource}, its cap is {cap:.0f}"
