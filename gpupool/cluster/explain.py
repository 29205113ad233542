"""The effective values of a node, a partition or an account, each with the inventory line that sets it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gpupool.cluster.complaints import Path, Place
from gpupool.cluster.load import Loaded
from gpupool.cluster.model import Account, Cluster
from gpupool.cluster.resolve.outages import described, suspended
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_duration, format_size

_SOURCES = ("src", "inferred")  # notes for people, without effect


@dataclass(frozen=True)
class Value:
    """A value by its key; `place` is the line that sets it, None for a default."""

    key: str
    value: str
    place: Place | None


@dataclass(frozen=True)
class Explained:
    """A node, partition or account (`what`) with its effective values."""

    what: str
    name: str
    values: tuple[Value, ...]


def explain(loaded: Loaded, name: str) -> list[Explained]:
    """Return the node, partition and account with this name; an empty list if there is none."""
    if loaded.cluster is None or loaded.site is None:
        return []
    explained = []
    for kind, known, of in (
        ("node", loaded.cluster.nodes, _node),
        ("partition", loaded.cluster.partitions, _partition),
        ("account", loaded.cluster.accounts, _account),
    ):
        if name in known:
            explained.append(Explained(kind, name, tuple(of(loaded.cluster, loaded.site, loaded.places, name))))
    return explained


def names(loaded: Loaded) -> list[str]:
    """Return the names of all nodes, partitions and accounts."""
    cluster = loaded.cluster
    return [*cluster.nodes, *cluster.partitions, *cluster.accounts] if cluster else []


def _node(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    node, expanded = cluster.nodes[name], site.node_table.by_name[name]
    entry, path = expanded.entry, expanded.path
    own = {"name": name, **({"address": node.address} if node.address else {})}
    yield from _entry(entry, path, places, own)
    shape = site.inventory.hardware.get(entry.hardware or "")
    if shape is not None:
        yield from _entry(shape, ("hardware", str(entry.hardware)), places, {}, "hardware.")
        reserve = _nearest(("slurm", "memory_reserve"), places) if "slurm" in site.inventory.model_fields_set else None
        yield Value("RealMemory", f"{node.memory}M", reserve)
    if node.features:
        yield Value("Feature", ", ".join(node.features), _nearest((*path, "features"), places))
    for index, outage in enumerate(site.inventory.out_of_service):
        if name in site.nodes_of(outage.nodes):
            yield Value("out_of_service", described(outage), _nearest(("out_of_service", index), places))
    for at, partition in site.partitions():
        for each, _ in site.partition_names(partition):
            if name in site.nodes_of(partition.nodes):
                yield Value("partition", each, _nearest((*at, "nodes"), places))


def _partition(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    partition = cluster.partitions[name]
    path, entry, account = next(
        (path, entry, account)
        for path, entry in site.partitions()
        for each, account in site.partition_names(entry)
        if each == name
    )
    yield from _entry(entry, path, places, {"name": name}, account=account)
    if partition.preemptable and not entry.preemptable:
        yield Value("preemptable", "by its QoS", _nearest((*path, "qos"), places))
    elif partition.preemptable and entry.preempt_action is None:
        yield Value("preempt_action", partition.action, _nearest(("preemption", "action"), places))
    gpus = sum(cluster.nodes[node].gpu_count for node in partition.nodes)
    cpus = sum(cluster.nodes[node].cpus for node in partition.nodes)
    out = sum(cluster.nodes[node].all_gpu_count for node in partition.nodes) - gpus
    more = f" ({out} more out of service)" if out else ""
    has = f"{len(partition.nodes)} nodes, {gpus} GPUs{more}, {cpus} CPUs"
    yield Value("has", has, _nearest((*path, "nodes"), places))
    admitted = [account for account in cluster.accounts if cluster.admits(partition, account)]
    key = next((key for key in ("allow_accounts", "deny_accounts") if (*path, key) in places), None)
    yield Value("accounts", _list(admitted), _nearest((*path, key), places) if key else None)


def _account(cluster: Cluster, site: Site, places: Mapping[Path, Place], name: str) -> Iterator[Value]:
    account = cluster.accounts[name]
    index, entry = next(
        (index, account) for index, account in enumerate(site.inventory.accounts) if account.name == name
    )
    path: Path = ("accounts", index)
    yield from _entry(entry, path, places, {})
    yield from _cap(account, path, places)
    for part in suspended(site):
        if name in part.labs:
            yield Value("suspended", str(part), _nearest(("out_of_service",), places))
    if own := cluster.qos_of(name):
        yield Value("default QoS", own, _nearest(("qos", own, "default_for"), places))
    elif default := next((other for other, qos in cluster.qos.items() if qos.default), None):
        yield Value("default QoS", default, _nearest(("qos", default, "default"), places))
    above = account.parent
    while above in cluster.accounts:
        at = next(index for index, account in enumerate(site.inventory.accounts) if account.name == above)
        for value in _entry(
            site.inventory.accounts[at].limits, ("accounts", at, "limits"), places, {}, f"{above}.limits."
        ):
            if value.place is not None:
                yield value
        above = cluster.accounts[above].parent
    members = [user for user in cluster.users.values() if name in user.accounts]
    yield Value("members", str(len(members)), places.get((*path, "members")))
    for at_path, partition in site.partitions():
        for each, _ in site.partition_names(partition):
            if name in cluster.accounts and cluster.admits(cluster.partitions[each], name):
                key = "allow_accounts" if partition.allow_accounts else "name"
                yield Value("partition", each, _nearest((*at_path, key), places))


def _cap(account: Account, path: Path, places: Mapping[Path, Place]) -> Iterator[Value]:
    """Yield the limits of a lab: its cap, and its share of CPUs and memory."""
    if account.entry.kind != "lab":
        return
    yield Value("cap", f"{account.limits.group.gpu} GPUs", _nearest((*path, "contributed_gpus"), places))
    for key, shown in (("cpu", str), ("mem", format_size)):
        most = getattr(account.limits.group, key)
        if most is not None and (*path, "limits", "group", key) not in places:
            yield Value(f"share.{key}", shown(most), _nearest(("scheduler", "lab_share", key), places))


def _entry(
    entry: BaseModel,
    path: Path,
    places: Mapping[Path, Place],
    instead: Mapping[str, str],
    prefix: str = "",
    account: str | None = None,
) -> Iterator[Value]:
    """Yield the values of an entry and of entries in it, except unset values that are empty by default."""
    for name, field in type(entry).model_fields.items():
        key, value = field.alias or name, getattr(entry, name)
        here = (*path, key)
        if key in _SOURCES or (here not in places and value in (None, (), {}, False)):
            continue
        if isinstance(value, BaseModel):
            yield from _entry(value, here, places, {}, f"{prefix}{key}.")
        else:
            shown = instead.get(key) or _shown(key, value)
            yield Value(f"{prefix}{key}", shown.replace("{account}", account or "{account}"), places.get(here))


_SIZES = ("memory", "mem", "capacity")
_TIMES = ("max_time", "max_wall", "grace", "wall")


def _shown(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and key in _SIZES:
        return format_size(value)
    if value is None and key in _TIMES:
        return "infinite"
    if isinstance(value, int) and key in _TIMES:
        return format_duration(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{each}: {_shown(each, its)}" for each, its in value.items())
    return _list(value) if isinstance(value, tuple) else str(value)


def _list(values: Any) -> str:
    return ", ".join(map(str, values)) or "none"


def _nearest(path: Path, places: Mapping[Path, Place]) -> Place | None:
    """Return the line of a key, or of its nearest parent that has a line."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path)
