"""Check pools, datasets and properties for settings that ZFS refuses, or that would lose data."""

import re
from collections.abc import Iterator, Mapping
from typing import get_args

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.pools import dataset_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.storage import Data, Export, Pool, Vdev
from gpupool.cluster.units import format_size
from gpupool.cluster.zfs_properties import NOT_HERE, OF_DATASETS, OF_POOLS, PROFILES, wrong

_LEAST = {"mirror": 2, "raidz1": 2, "raidz2": 3, "raidz3": 4}
_POOL_NAME = re.compile(r"(?!c\d|mirror|raidz|draid|spare|log$)[A-Za-z][A-Za-z0-9_.:-]*")
_DATASET = re.compile(r"[A-Za-z0-9_.:-]+(/(?!\.\.?(/|$))[A-Za-z0-9_.:-]+)*")
_OF_DATASET = ("dataset", "properties", "reservation", "snapshots")


def ensure_pools_have_a_server(site: Site) -> Iterator[Complaint]:
    """A pool is on one server or on several nodes, with a name that ZFS accepts and that no other pool has there."""
    storage = site.inventory.storage
    for key, pool in storage.pools.items():
        path: Path = ("storage", "pools", key)
        if (pool.server is None) == (pool.where is None):
            yield Complaint(path, f"the pool {key} needs a server, or `where` for several nodes", "set one of the two")
        server = site.node_table.by_name.get(pool.server or "")
        if server and not server.entry.managed:
            message = f"{server.name} is not managed, so gpupool cannot manage its pool"
            yield Complaint((*path, "server"), message, "remove the pool")
        name = pool.name or key
        if not _POOL_NAME.fullmatch(name):
            message = (
                f"{name!r} is not a valid pool name: start with a letter, and not with mirror, raidz, draid, spare or "
                "log"
            )
            yield Complaint((*path, "name") if pool.name else path, message)
    for node in site.pool_nodes:
        names: dict[str, str] = {}
        places: dict[str, str] = {}
        for placed in site.pools_on(node):
            for how, value, first in (("called", placed.name, names), ("mounted at", placed.at, places)):
                if first.setdefault(value, placed.key) != placed.key:
                    message = f"{first[value]} and {placed.key} are both {how} {value} on {node}"
                    yield Complaint(("storage", "pools", placed.key), message)


def ensure_disks_are_used_once(site: Site) -> Iterator[Complaint]:
    """Each disk of a node is in one pool, once, and has a persistent name."""
    reported: set[Path] = set()
    for node in site.pool_nodes:
        taken: dict[str, str] = {}
        for placed in site.pools_on(node):
            for path, disk in _disks(placed.key, placed.entry):
                if disk in taken and path not in reported:
                    yield Complaint(path, f"{disk} of {node} is already in the pool {taken[disk]}")
                    reported.add(path)
                taken.setdefault(disk, placed.key)
    for key, pool in site.inventory.storage.pools.items():
        for path, disk in _disks(key, pool):
            if not disk.startswith("/dev/"):
                yield Complaint(path, f"{disk} is not a disk", "write /dev/disk/by-id/…")
            elif re.fullmatch(r"/dev/(sd|vd|hd|xvd|nvme)\w+", disk):
                message = f"{disk} may name another disk after the next boot"
                yield Complaint(path, message, "use its name in /dev/disk/by-id", "warning")


def ensure_groups_of_a_pool_are_alike(site: Site) -> Iterator[Complaint]:
    """A pool has data disks, in groups of one kind, each with enough disks for its kind."""
    for key, pool in site.inventory.storage.pools.items():
        path: Path = ("storage", "pools", key, "vdevs")
        kinds = list(dict.fromkeys(vdev.kind for vdev in pool.vdevs if vdev.kind in get_args(Data)))
        if pool.vdevs and not kinds:
            yield Complaint(
                path, f"the pool {key} has no data disks", "add a group of kind mirror, raidz1 to raidz3, or stripe"
            )
        elif len(kinds) > 1:
            message = (
                f"the pool {key} has {' and '.join(kinds)} groups: if the weaker one fails, the whole pool is lost"
            )
            yield Complaint(path, message, "use groups of one kind")
        for index, vdev in enumerate(pool.vdevs):
            if len(vdev.disks) < _LEAST.get(vdev.kind, 1):
                message = f"{vdev.kind} needs {_LEAST[vdev.kind]} disks, but has {len(vdev.disks)}"
                yield Complaint((*path, index, "disks"), message)
            if vdev.kind == "special" and len(vdev.disks) < 2 and kinds != ["stripe"]:
                message = f"if this one disk fails, the whole pool {key} is lost"
                yield Complaint((*path, index, "disks"), message, "use two, as a mirror")


def ensure_datasets_have_a_pool(site: Site) -> Iterator[Complaint]:
    """Settings of a dataset need a declared pool that contains it, and each dataset is one export."""
    storage = site.inventory.storage
    taken: dict[tuple[str, str], str] = {}
    for key, export in storage.exports.items():
        path: Path = ("storage", "exports", key)
        if export.server is None or export.path is None:
            continue
        pools = site.pools_on(export.server)
        dataset = dataset_of(export, pools) if export.fs == "zfs" else None
        if dataset is None:
            yield from _without_a_pool(path, export, [pool.name for pool in pools])
        elif not _DATASET.fullmatch(dataset) or len(dataset) > 200:
            message = f"{dataset!r} is not a valid dataset name"
            yield Complaint((*path, "dataset" if export.dataset else "path"), message)
        elif taken.setdefault((export.server, dataset), key) != key:
            message = f"{dataset} of {export.server} is already the export {taken[export.server, dataset]}"
            yield Complaint((*path, "dataset" if export.dataset else "path"), message)


def _without_a_pool(path: Path, export: Export, pools: list[str]) -> Iterator[Complaint]:
    if export.dataset and export.fs == "zfs":
        message = f"{export.dataset} is not in a declared pool of {export.server}"
        near = misspelt(export.dataset.split("/")[0], pools)
        hint = f"did you mean {near[0]}/…?" if near else "declare it in storage.pools, or remove this key"
        yield Complaint((*path, "dataset"), message, hint)
        return
    if export.fs == "zfs" and pools:
        message = f"{export.path} is not in a declared pool of {export.server} ({', '.join(pools)})"
        yield Complaint((*path, "path"), message, "set `dataset`, or declare its pool")
        return
    for option in _OF_DATASET:
        if getattr(export, option):
            reason = "its server has no declared pool" if export.fs == "zfs" else f"this one is {export.fs}"
            yield Complaint((*path, option), f"is only for ZFS datasets, and {reason}", "see storage.pools")


def ensure_zfs_knows_the_properties(site: Site) -> Iterator[Complaint]:
    """Properties exist in ZFS, may be set in the inventory, and have values that ZFS accepts."""
    storage = site.inventory.storage
    for key, pool in storage.pools.items():
        path: Path = ("storage", "pools", key)
        yield from _properties((*path, "properties"), pool.properties, OF_POOLS, "a pool")
        yield from _properties((*path, "defaults"), pool.defaults, OF_DATASETS, "a dataset")
    for key, export in storage.exports.items():
        yield from _properties(("storage", "exports", key, "properties"), export.properties, OF_DATASETS, "a dataset")
        if export.profile is not None and export.profile not in PROFILES:
            message = f"there is no profile {export.profile!r}"
            yield Complaint(("storage", "exports", key, "profile"), message, f"known: {', '.join(PROFILES)}")


def _properties(path: Path, properties: Mapping[str, str], known: Mapping[str, str], what: str) -> Iterator[Complaint]:
    for name, value in properties.items():
        here = (*path, name)
        if ":" in name and not name.startswith("gpupool:"):
            continue  # a user property of the admin
        if name in NOT_HERE and known is OF_DATASETS:
            yield Complaint(here, f"{name} cannot be set in the inventory", NOT_HERE[name])
        elif name not in known:
            near = misspelt(name, known)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            yield Complaint(here, f"{name} is not a property of {what} that can be set here", hint)
        elif bad := wrong(name, value, known):
            yield Complaint(here, bad, f"it must match {known[name]}")


def ensure_reservations_fit(site: Site) -> Iterator[Complaint]:
    """The reservation of a dataset is at most its size."""
    for key, export in site.inventory.storage.exports.items():
        if export.reservation and export.size and export.reservation > export.size:
            message = f"reservation {format_size(export.reservation)} is larger than size {format_size(export.size)}"
            yield Complaint(("storage", "exports", key, "reservation"), message)


def _disks(key: str, pool: Pool) -> Iterator[tuple[Path, str]]:
    vdevs: tuple[Vdev, ...] = pool.vdevs
    for index, vdev in enumerate(vdevs):
        for number, disk in enumerate(vdev.disks):
            yield ("storage", "pools", key, "vdevs", index, "disks", number), disk
