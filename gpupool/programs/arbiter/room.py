"""Room for a pending job on the nodes, after all preemptable jobs have ended."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gpupool.slurm import nodes
from gpupool.slurm.hostlists import expand

from .jobs import Job, UnsureError


@dataclass(frozen=True)
class Node:
    """A node with its TRES (`has`) and the allocated ones (`used`); `away` means that no job can start there now."""

    name: str
    has: Mapping[str, float]
    used: Mapping[str, float]
    partitions: tuple[str, ...]
    features: tuple[str, ...]
    away: bool


def read(text: str) -> list[Node]:
    """Return the nodes of `scontrol show nodes`; UnsureError if there are none, or amounts cannot be read."""
    try:
        known = [
            Node(name, state.has, state.used, state.partitions, state.features, away=not state.is_open)
            for name, state in nodes.read(text).items()
        ]
    except ValueError as wrong:
        raise UnsureError(f"scontrol show nodes: {wrong}") from wrong
    if not known:
        raise UnsureError("scontrol show nodes: no node in its answer")
    return known


class Room:
    """The resources of each node that are free, or would be if all jobs of the `yielding` partitions ended."""

    def __init__(self, nodes: Iterable[Node], jobs: Iterable[Job], yielding: Collection[str]) -> None:
        self._nodes = {node.name: node for node in nodes if not node.away}
        self._free = {
            name: {key: amount - node.used.get(key, 0) for key, amount in node.has.items()}
            for name, node in self._nodes.items()
        }
        for job in jobs:
            if job.running and job.partitions[0] in yielding:
                for name in set(_names(job.nodes)) & self._free.keys():
                    for key, amount in job.has.items():
                        self._free[name][key] = self._free[name].get(key, 0) + amount / job.node_count

    def is_empty(self, name: str) -> bool:
        """Return whether all resources of a node would be free."""
        return all(self._free[name].get(key, 0) >= amount for key, amount in self._nodes[name].has.items())

    def clear(self, job: Job, partitions: Collection[str], others: Iterable[Job]) -> list[Job]:
        """Free the resources of the first of `others` that make room on one node, and return these jobs.

        Leave out the needless jobs among them. Return none if there is no such node.
        """
        if job.node_count != 1:
            return []
        nodes = self._open_to(job, partitions)
        by_node: dict[str, list[Job]] = {}
        for other in others:
            name = other.nodes
            if name not in nodes or other.node_count != 1:
                continue
            by_node.setdefault(name, []).append(other)
            if self._fits(job, name, by_node[name]):
                chosen = by_node[name]
                for needless in list(chosen):
                    if self._fits(job, name, rest := [other for other in chosen if other is not needless]):
                        chosen = rest
                for victim in chosen:
                    for key, amount in victim.has.items():
                        self._free[name][key] = self._free[name].get(key, 0) + amount
                return chosen
        return []

    def _fits(self, job: Job, name: str, without: Iterable[Job]) -> bool:
        free = self._free[name]
        return all(
            free.get(key, 0) + sum(other.amount(key) for other in without) >= job.asks[key] for key in _keys(job)
        )

    def _open_to(self, job: Job, partitions: Collection[str]) -> set[str]:
        """Return the available nodes on which a job may run; none if a required node is missing."""
        wanted = _alternatives(job.features)
        nodes = {
            name
            for name, node in self._nodes.items()
            if set(partitions) & set(node.partitions) and any(names <= set(node.features) for names in wanted)
        } - job.excluded
        if job.required:
            # a job that names fewer nodes than it needs is not supported
            return set(job.required) if job.required <= nodes and len(job.required) >= job.node_count else set()
        return nodes

    def take(self, job: Job, partitions: Collection[str]) -> bool:
        """Reserve room for a pending job in one of these partitions; return False if there is none."""
        keys = _keys(job)
        shares: dict[str, float] = {}
        for name in sorted(self._open_to(job, partitions)):
            if job.shared == "none" and not self.is_empty(name):
                continue
            share = min((self._free[name].get(key, 0) / job.asks[key] for key in keys), default=1.0)
            if share > 0:
                shares[name] = min(share, 1.0)
        if not job.required <= shares.keys():
            return False
        if job.node_count == 1:
            shares = dict([best]) if (best := max(shares.items(), key=lambda item: item[1], default=None)) else {}
        if sum(shares.values()) < 1:
            return False
        left = 1.0
        for name, share in shares.items():
            part, left = min(share, left), left - min(share, left)
            for key in keys:
                self._free[name][key] -= part * job.asks[key]
        return True


def _names(hostlist: str) -> list[str]:
    try:
        return expand(hostlist)
    except ValueError as wrong:
        raise UnsureError(str(wrong)) from wrong


def _keys(job: Job) -> list[str]:
    return [key for key, amount in job.asks.items() if amount and (key in ("cpu", "mem") or "gpu" in key)]


def _alternatives(constraint: str) -> list[set[str]]:
    """Return sets of features, of which a node must have one set, for `--constraint`: `a`, `a|b`, `a&b` or `a,b`.

    Return none for all other forms (counts, brackets, a mix of operators): such a job finds no room here, so no job is
    evicted for it.
    """
    if not constraint:
        return [set()]
    names = re.split(r"[|&,]", constraint)
    if not all(re.fullmatch(r"[\w.:=-]+", name) for name in names):
        return []
    if "|" not in constraint:
        return [set(names)]
    return [] if re.search("[&,]", constraint) else [{name} for name in names]
