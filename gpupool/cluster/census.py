"""Node ranges written out, and selectors such as `@compute!vicki` turned into node names (by ClusterShell)."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from ClusterShell.NodeSet import NodeSet, NodeSetException
from ClusterShell.NodeUtils import GroupResolver, GroupSource

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.schema import Inventory
from gpupool.cluster.schema.machines import NodeEntry, Role

_GROUP = re.compile(r"@(?:([\w-]+):)?([\w*-]+)")


@dataclass(frozen=True)
class Counted:
    """One node of an entry: its name, its address, and the entry's path."""

    name: str
    address: str | None
    entry: NodeEntry
    path: Path


def expand(words: str) -> list[str]:
    """Give the names of a range such as `a40-[01-04]` in its order; ValueError when it is none."""
    if not re.search(r"[\[,&!^@]", words):
        return [words]
    try:
        return list(NodeSet(words, resolver=GroupResolver()))
    except NodeSetException as error:
        raise ValueError(f"{words!r} is not a range of nodes: {error}") from None


@dataclass(frozen=True)
class Census:
    """All nodes of an inventory, once."""

    nodes: Sequence[Counted]

    @cached_property
    def by_name(self) -> Mapping[str, Counted]:
        """Nodes by name, in inventory order."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def _groups(self) -> Mapping[str, Mapping[str, list[str]]]:
        roles: dict[str, list[str]] = {role: [] for role in get_args(Role)}
        gpus: dict[str, list[str]] = {}
        hardware: dict[str, list[str]] = {}
        for node in self.nodes:
            for role in node.entry.roles:
                roles[role].append(node.name)
            for gpu in node.entry.gpus:
                gpus.setdefault(gpu, []).append(node.name)
            if node.entry.hardware:
                hardware.setdefault(node.entry.hardware, []).append(node.name)
        return {"role": roles, "gpu": gpus, "hardware": hardware}

    @cached_property
    def _resolver(self) -> GroupResolver:
        sources = [
            GroupSource(name, {group: ",".join(names) for group, names in groups.items()})
            for name, groups in self._groups.items()
        ]
        resolver = GroupResolver(sources[0])
        for source in sources[1:]:
            resolver.add_source(source)
        return resolver

    def select(self, words: str) -> tuple[str, ...]:
        """Give the nodes of a selector in inventory order; ValueError, in words, where it names what is not there."""
        for source, group in _GROUP.findall(words):
            groups = self._groups.get(source or "role", {})
            if group != "*" and group not in groups:
                raise ValueError(f"{words!r}: there is no {source or 'role'} {group!r}; there are {', '.join(groups)}")
        try:
            names = set(NodeSet(words, resolver=self._resolver))
        except NodeSetException as error:
            raise ValueError(f"{words!r} is not a selection of nodes: {error}") from None
        if strangers := sorted(names - set(self.by_name)):
            raise ValueError(f"{words!r}: there is no node {', '.join(strangers[:3])}")
        return tuple(name for name in self.by_name if name in names)


def count(inventory: Inventory) -> tuple[Census, list[Complaint]]:
    """Write out every node range; complaints for bad ranges, names or addresses that stand twice."""
    complaints: list[Complaint] = []
    nodes = [node for index, entry in enumerate(inventory.nodes) for node in _counted(index, entry, complaints)]
    complaints += _twice(nodes)
    return Census(nodes), complaints


def _counted(index: int, entry: NodeEntry, complaints: list[Complaint]) -> Iterator[Counted]:
    path: Path = ("nodes", index)
    try:
        names = expand(entry.name)
    except ValueError as error:
        complaints.append(Complaint((*path, "name"), str(error), "write a40-[01-04]"))
        return
    try:
        addresses: list[str | None] = [*expand(entry.address)] if entry.address else [None] * len(names)
    except ValueError as error:
        complaints.append(Complaint((*path, "address"), str(error), "write 10.66.1.[1-4]"))
        return
    if len(addresses) != len(names):
        words = f"{len(addresses)} addresses for {len(names)} nodes"
        complaints.append(Complaint((*path, "address"), words, "make the two ranges equally long"))
        return
    for name, address in zip(names, addresses, strict=True):
        yield Counted(name, address, entry, path)


def _twice(nodes: Sequence[Counted]) -> Iterator[Complaint]:
    names = Counter(node.name for node in nodes)
    addresses = Counter(node.address for node in nodes if node.address)
    first_name: dict[str, Path] = {}
    first_address: dict[str, str] = {}
    for node in nodes:
        if names[node.name] > 1 and node.name in first_name:
            words = f"the node {node.name} stands twice; first in nodes[{first_name[node.name][1]}]"
            yield Complaint((*node.path, "name"), words)
        first_name.setdefault(node.name, node.path)
        if node.address and addresses[node.address] > 1 and node.address in first_address:
            words = f"{node.name} has the address {node.address} of {first_address[node.address]}"
            yield Complaint((*node.path, "address"), words)
        first_address.setdefault(node.address or "", node.name)
