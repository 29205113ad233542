"""Expand node ranges, and evaluate selectors such as `@compute!vicki` with ClusterShell."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, get_args

from ClusterShell.NodeSet import NodeSet, NodeSetException
from ClusterShell.NodeUtils import GroupResolver, GroupResolverError, GroupSource

from gpupool.cluster.complaints import Complaint, Path
from gpupool.slurm import hostlists

if TYPE_CHECKING:
    from gpupool.cluster.schema import Inventory
    from gpupool.cluster.schema.machines import NodeEntry

_GROUP = re.compile(r"@(?:([\w-]+):)?([\w*.:-]+)")
_RANGE = re.compile(r"(\d+)-(\d+)")
_STEPS = re.compile(r"(\d+)-(\d+)/(\d+)")
_CUT = re.compile(r"\[[^\]]*\]?|([,!&^])")  # brackets, or what is between sets of nodes
_BRACKETS = re.compile(r"\[([^\]]*)\]?")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*")
_FOREIGN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?")  # of a node that Slurm has, and gpupool leaves
_RESERVED = ("localhost", "all", "default")  # reserved in /etc/hosts or slurm.conf
_AFTER_DIGIT = re.compile(r"[0-9]\[([^\]]*)\]")
_MOST = 100_000  # nodes of one range: a larger one is a mistake, and would take all memory


@dataclass(frozen=True)
class ExpandedNode:
    """One node of an entry: its name, its address, the entry's path, and the host name of its machine.

    `addresses` are those in further networks, by network.
    """

    name: str
    address: str | None
    entry: "NodeEntry"
    path: Path
    hostname: str | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)


def expand(text: str) -> list[str]:
    """Return the names of a range such as `a40-[01-04],b-[3,1]`, in the order as written; ValueError if it is invalid.

    A range of the inventory is a host list of Slurm or, as in ClusterShell, a range with steps: `a[0-8/2]`. Selectors
    are ClusterShell's alone.
    """
    if not re.search(r"[\[\],&!^@*?]", text):
        return [text]
    if re.search(r"[&!^@*?]", text):
        raise ValueError(f"{text!r} is not a range of nodes: @, !, &, ^, * and ? only work in selectors")
    _bounded(text)
    try:
        NodeSet(text, resolver=GroupResolver())  # called for its error, which quotes the text as written
        return hostlists.expand(",".join(_STEPS.sub(_stepped, part.lstrip()) for part in _sets(text)))
    except (NodeSetException, ValueError) as error:
        raise ValueError(f"{text!r} is not a range of nodes: {_plain(error)}") from None


def _sets(text: str) -> list[str]:
    """Return the sets of nodes in a text: the parts between commas and operators that are not within brackets."""
    cuts = [match.start() for match in _CUT.finditer(text) if match[1]]
    return [text[start:end] for start, end in zip([0, *(cut + 1 for cut in cuts)], [*cuts, None], strict=True)]


def _stepped(steps: re.Match[str]) -> str:
    """Return a range with steps, `0-8/2`, as numbers."""
    first, last, step = steps.groups()
    return ",".join(f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1, int(step)))


def _plain(error: Exception) -> str:
    return str(error).replace('"', "").replace(" :", ":")


def _bounded(text: str) -> None:
    if any(len(number) > 9 for pair in _RANGE.findall(text) for number in pair):
        raise ValueError(f"{text!r} is not a range of nodes: its numbers are too long")
    for inside in _AFTER_DIGIT.findall(text):
        # Slurm reads a1[1-12] as twelve nodes (a11 to a112), but ClusterShell as 102.
        if any(len(low) != len(high) for low, high in _RANGE.findall(inside)):
            raise ValueError(
                f"{text!r} is not a range of nodes: after a digit, both numbers of a range need as many digits: [01-12]"
            )
    size = sum(prod(map(_count, _BRACKETS.findall(part))) for part in _sets(text))
    if size > _MOST:
        raise ValueError(f"{text!r} is a range of {size} nodes; the maximum is {_MOST}")


def _count(bracket: str) -> int:
    """Return the count of numbers in brackets: 51 for `1-50,60`."""
    ranges = (_RANGE.search(part) for part in bracket.split(","))
    return sum(max(1, int(part[2]) - int(part[1]) + 1) if part else 1 for part in ranges)


@dataclass(frozen=True)
class NodeTable:
    """All nodes of an inventory; `whole` is False if some entries could not be expanded.

    `named` are the inventory's own groups, each a selector of roles, GPU types, hardware, features and names; `owned`
    are the selectors of labs that own nodes, by account.
    """

    nodes: Sequence[ExpandedNode]
    whole: bool = True
    named: Mapping[str, str] = field(default_factory=dict)
    owned: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_name(self) -> Mapping[str, ExpandedNode]:
        """Nodes by name, in inventory order."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def _groups(self) -> Mapping[str, Mapping[str, list[str]]]:
        # Imported here, because shell completion of nodes needs `expand` without the schema.
        from gpupool.cluster.own_hardware import is_own
        from gpupool.cluster.schema.machines import Role

        roles: dict[str, list[str]] = {role: [] for role in get_args(Role)}
        gpus: dict[str, list[str]] = {}
        hardware: dict[str, list[str]] = {}
        features: dict[str, list[str]] = {}
        for node in self.nodes:
            for role in node.entry.roles:
                roles[role].append(node.name)
            for gpu in node.entry.gpus:
                gpus.setdefault(gpu, []).append(node.name)
            if node.entry.hardware and not is_own(node.entry.hardware):
                hardware.setdefault(node.entry.hardware, []).append(node.name)
            for feature in node.entry.features:
                features.setdefault(feature, []).append(node.name)
        kinds: dict[str, Mapping[str, list[str]]] = {
            "role": roles,
            "gpu": gpus,
            "hardware": hardware,
            "feature": features,
        }
        if self.named:
            kinds["group"] = dict(self.unnamed.select_each(self.named))
        if self.owned:
            kinds["owner"] = dict(self.unowned.select_each(self.owned))
        return kinds

    def select_each(self, selectors: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
        """Yield each name with the nodes of its selector, except invalid ones: a check complains about those."""
        for name, selector in selectors.items():
            with suppress(ValueError):
                yield name, list(self.select(selector))

    @cached_property
    def unnamed(self) -> "NodeTable":
        """The same table without the inventory's own groups, to evaluate these: they must not contain each other."""
        return NodeTable(self.nodes, self.whole)

    @cached_property
    def unowned(self) -> "NodeTable":
        """The same table without the nodes of owners, to evaluate these: an owner must not be named by another."""
        return NodeTable(self.nodes, self.whole, self.named)

    @cached_property
    def _selected(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _folded(self) -> dict[tuple[str, str], str]:
        return {}

    def select(self, selector: str) -> tuple[str, ...]:
        """Return the nodes of a selector in inventory order; ValueError with the reason if it names unknown ones."""
        if selector not in self._selected:
            self._selected[selector] = self._select(selector)
        return self._selected[selector]

    def _select(self, selector: str) -> tuple[str, ...]:
        for source, group in _GROUP.findall(selector):
            groups = self._groups.get(source or "role")
            if groups is None:
                raise ValueError(f"{selector!r}: unknown kind of group {source!r}; known: {', '.join(self._groups)}")
            if group != "*" and group not in groups:
                raise ValueError(f"{selector!r}: there is no {source or 'role'} {group!r}; known: {', '.join(groups)}")
        if selector in self.by_name:
            return (selector,)
        if again := re.search(r"!.*?,(?![^\[]*\])(.*)", selector):
            raise ValueError(
                f"{selector!r}: the comma after ! adds {again[1] or 'nothing'}: write ! before each name to leave out, "
                "or the added names first"
            )
        names: set[str] | list[str]
        if (whole := _GROUP.fullmatch(selector)) and "*" not in selector:
            names = self._groups[whole[1] or "role"][whole[2]]  # most selectors are one group, which needs no parsing
        else:
            _bounded(selector)
            try:
                names = set(NodeSet(selector, resolver=self._resolver(selector)))
            except (NodeSetException, GroupResolverError) as error:
                raise ValueError(f"{selector!r} is not a selector of nodes: {_plain(error)}") from None
            if strangers := sorted(names - self.by_name.keys()):
                raise ValueError(f"{selector!r}: there is no node {', '.join(strangers[:3])}")
        chosen = set(names)
        return tuple(name for name in self.by_name if name in chosen)

    def _resolver(self, selector: str) -> GroupResolver:
        """Return a resolver of a selector's groups, folded because ClusterShell parses their nodes each time."""
        named = set(_GROUP.findall(selector))
        every = re.search(r"[*?]", selector) is not None
        sources = [
            GroupSource(
                source,
                {
                    group: self._fold(source, group)
                    for group in groups
                    if every or (source, group) in named or (source == "role" and ("", group) in named)
                },
            )
            for source, groups in self._groups.items()
        ]
        resolver = GroupResolver(sources[0])
        for source in sources[1:]:
            resolver.add_source(source)
        return resolver

    def _fold(self, source: str, group: str) -> str:
        if (source, group) not in self._folded:
            self._folded[source, group] = str(NodeSet.fromlist(self._groups[source][group]))
        return self._folded[source, group]


def expand_all(inventory: "Inventory") -> tuple[NodeTable, list[Complaint]]:
    """Expand all node ranges, and complain about invalid ones, and about names or addresses defined twice."""
    complaints: list[Complaint] = []
    nodes = [node for index, entry in enumerate(inventory.nodes) for node in _expanded(index, entry, complaints)]
    whole = {node.path for node in nodes} == {("nodes", index) for index in range(len(inventory.nodes))}
    complaints += _twice(nodes)
    owned = {account.name: account.owns for account in inventory.accounts if isinstance(account.owns, str)}
    return NodeTable(nodes, whole, inventory.groups, owned), complaints


def _expanded(index: int, entry: "NodeEntry", complaints: list[Complaint]) -> Iterator[ExpandedNode]:
    path: Path = ("nodes", index)
    try:
        names = expand(entry.name)
    except ValueError as error:
        complaints.append(Complaint((*path, "name"), str(error), "write a40-[01-04]"))
        return
    reserved = _RESERVED if entry.managed else _RESERVED[1:]  # Slurm takes localhost, which gpupool cannot log in to
    right = _HOST if entry.managed else _FOREIGN
    if strange := next((name for name in names if not right.fullmatch(name) or name.lower() in reserved), None):
        message = (
            f"{strange!r} is not a valid node name: use letters, digits and hyphens, and not localhost, all or default"
        )
        foreign = entry.managed and _FOREIGN.fullmatch(strange) and strange.lower() not in _RESERVED[1:]
        hint = "a node with `managed: false` can have this name" if foreign else None
        complaints.append(Complaint((*path, "name"), message, hint))
    elif (entry.address or entry.addresses) and any(name.lower() == "localhost" for name in names):
        key = "address" if entry.address else "addresses"
        complaints.append(Complaint((*path, key), "localhost has its address on every machine", "remove it"))
    addresses = _of_each(entry.address, entry, names, complaints, (*path, "address"))
    hostnames = _of_each(entry.hostname, entry, names, complaints, (*path, "hostname"))
    further = [_of_each(text, entry, names, complaints, (*path, "addresses", n)) for n, text in entry.addresses.items()]
    for name, address, hostname, *others in zip(names, addresses, hostnames, *further, strict=False):
        own = {network: other for network, other in zip(entry.addresses, others, strict=True) if other}
        yield ExpandedNode(name, address, entry, path, hostname, own)


def _of_each(
    text: str | None, entry: "NodeEntry", names: list[str], complaints: list[Complaint], path: Path
) -> list[str | None]:
    """Return the value of each node of an entry; none, with a complaint, if the range has another length."""
    what, example = ("host names", "d[1-4]") if path[-1] == "hostname" else ("addresses", "10.66.1.[1-4]")
    try:
        values = expand(text) if text else []
    except ValueError as error:
        complaints.append(Complaint(path, str(error), f"write {example}"))
        return []
    # several slurmd may run on one machine; gpupool would log in to it as several nodes
    values = values if entry.managed else hostlists.one_each(values, len(names))
    if values and len(values) != len(names):
        message = f"{len(values)} {what} for {len(names)} nodes"
        complaints.append(Complaint(path, message, "make both ranges the same length"))
        return []
    return [*values] or [None] * len(names)


def _twice(nodes: Sequence[ExpandedNode]) -> Iterator[Complaint]:
    """Yield complaints about a name that two nodes have, and an address of two nodes if gpupool manages one of them."""
    names = Counter(node.name for node in nodes)
    addresses = Counter(address for node in nodes for _, address in _keys_of_addresses(node))
    first_name: dict[str, Path] = {}
    first_address: dict[str, ExpandedNode] = {}
    for node in nodes:
        if names[node.name] > 1 and node.name in first_name:
            message = f"the node {node.name} is defined twice; first in nodes[{first_name[node.name][1]}]"
            yield Complaint((*node.path, "name"), message)
        first_name.setdefault(node.name, node.path)
        for key, address in _keys_of_addresses(node):
            if addresses[address] == 1:
                continue
            first = first_address.setdefault(address, node)
            if first is not node and (first.entry.managed or node.entry.managed):
                message = f"{node.name} has address {address}, which {first.name} has too"
                yield Complaint((*node.path, *key), message)


def _keys_of_addresses(node: ExpandedNode) -> Iterator[tuple[Path, str]]:
    """Yield the addresses of a node, each with its key in the node's entry."""
    if node.address:
        yield ("address",), node.address
    for network, address in node.addresses.items():
        yield ("addresses", network), address
