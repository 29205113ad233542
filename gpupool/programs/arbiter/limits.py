"""Limits and their usage, as slurmctld counts them: `scontrol show assoc_mgr`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .jobs import UnsureError

_COUNT = re.compile(r"([\w/:.-]+)=(N|\d+)\((\d+(?:\.\d+)?)\)")
_RECORD = re.compile(r"^ClusterName=\S+ Account=(\S+) UserName=([^\s(]*)(?:\((\d+)\))? Partition=(\S*)", re.M)
_QOS = re.compile(r"^QOS=([^\s(]+)\(", re.M)
# Slurm 22.05 prints the number alone, later releases NAME(NUMBER)
_USER = re.compile(r"^      (?:\S+\()?(\d+)\)?\s*$", re.M)


@dataclass(frozen=True)
class Limit:
    """The maximum, if any, and the used amount of each resource (`gres/gpu`, `cpu`, `mem`, also `jobs`)."""

    most: Mapping[str, float]
    used: Mapping[str, float]

    def short(self, asks: Mapping[str, float]) -> dict[str, float]:
        """Return the missing amount of each resource for one more job with these requests."""
        wants = {**asks, "jobs": 1.0}
        over = {key: self.used[key] + wants.get(key, 0) - most for key, most in self.most.items() if wants.get(key)}
        return {key: missing for key, missing in over.items() if missing > 0}


@dataclass(frozen=True)
class Limits:
    """Limits of accounts, of their users (account, user), and of users in a QoS (QoS, user)."""

    accounts: Mapping[str, Limit]
    parents: Mapping[str, str]
    users: Mapping[tuple[str, str], Limit]
    qos: Mapping[str, Limit] = field(default_factory=dict)
    qos_users: Mapping[tuple[str, str], Limit] = field(default_factory=dict)


def read(text: str) -> Limits:
    """Return the limits of `scontrol show assoc_mgr flags=assoc,qos`; UnsureError where none are found."""
    accounts: dict[str, Limit] = {}
    parents: dict[str, str] = {}
    users: dict[tuple[str, str], Limit] = {}
    names: dict[str, str] = {}
    for head, body in _pieces(_RECORD, text.partition("QOS Records")[0]):
        account, user, uid, partition = head.groups()
        limit = _limit(body, "GrpTRES", "GrpJobs")
        if user:
            names[uid] = user
            # skip an association with one partition: it does not count for jobs in other partitions
            if not partition:
                users[account, user] = limit
        else:
            accounts[account] = limit
            above = re.search(r"ParentAccount=([^\s(]*)", body)
            parents[account] = above[1] if above else ""
    qos: dict[str, Limit] = {}
    qos_users: dict[tuple[str, str], Limit] = {}
    for head, body in _pieces(_QOS, text.partition("QOS Records")[2]):
        qos[head[1]] = _limit(body, "GrpTRES", "GrpJobs")
        for user, own in _pieces(_USER, body.partition("User Limits")[2]):
            # skip users of other accounts than the requested ones
            if user[1] in names:
                qos_users[head[1], names[user[1]]] = _limit(own, "MaxTRESPU", "MaxJobsPU")
    if not accounts:
        raise UnsureError("scontrol show assoc_mgr: no account in its answer")
    return Limits(accounts, parents, users, qos, qos_users)


def _pieces(pattern: re.Pattern[str], text: str) -> list[tuple[re.Match[str], str]]:
    """Return each head with the text up to the next head."""
    heads = list(pattern.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [(head, text[head.end() : end]) for head, end in zip(heads, ends, strict=False)]


def _limit(body: str, resources: str, jobs: str) -> Limit:
    most: dict[str, float] = {}
    used: dict[str, float] = {}
    line = re.search(rf"^\s+{resources}=(.*)$", body, re.M)
    if not line:
        raise UnsureError(f"scontrol show assoc_mgr: no {resources}")
    counts = _COUNT.findall(line[1])
    count = re.search(rf"\b{jobs}=(N|\d+)\((\d+)\)", body)
    if count:
        counts.append(("jobs", count[1], count[2]))
    for key, limit, now in counts:
        used[key] = float(now)
        if limit != "N":
            most[key] = float(limit)
    return Limit(most, used)
