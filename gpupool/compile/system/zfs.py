"""The wanted ZFS of a node: pools, datasets with their properties, quotas and snapshots, as plain data."""

from collections.abc import Iterator
from dataclasses import replace

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.resolve.pools import Placed, dataset_of, pools_on
from gpupool.cluster.zfs_properties import PROFILES
from gpupool.wanted import Dataset, Pool, Vdev

DEFAULTS = {"compression": "lz4", "atime": "off", "xattr": "sa", "acltype": "posix"}
_MIB = 1024 * 1024


def pools_for(cluster: Cluster, node: Node) -> list[Pool]:
    """Return the pools of a node in inventory order; empty if a testbed's directories replace its disks."""
    return [
        Pool(
            pool.name,
            tuple(Vdev(vdev.kind, vdev.disks) for vdev in pool.entry.vdevs),
            pool.entry.properties,
            pool.at,
            pool.entry.scrub,
        )
        for pool in _pools(cluster, node)
    ]


def datasets_for(cluster: Cluster, node: Node) -> list[Dataset]:
    """Return the datasets of a node, parents first; the top dataset of each pool has the pool's defaults."""
    pools = _pools(cluster, node)
    datasets = {pool.name: _top(pool) for pool in pools}
    named = (*_exports(cluster, node), *_local(cluster, node, pools)) if pools else ()
    for dataset in sorted(named, key=_depth):
        _between(dataset, datasets)
        top = datasets.get(dataset.name)
        datasets[dataset.name] = replace(dataset, properties={**(top.properties if top else {}), **dataset.properties})
    return sorted(datasets.values(), key=_depth)


def _depth(dataset: Dataset) -> list[str]:
    return dataset.name.split("/")


def _pools(cluster: Cluster, node: Node) -> tuple[Placed, ...]:
    if not cluster.drivers.real_storage(node.name):
        return ()
    return pools_on(cluster.storage, node.name, cluster.select)


def _top(pool: Placed) -> Dataset:
    return Dataset(pool.name, pool.at, {**DEFAULTS, **pool.entry.defaults})


def _between(dataset: Dataset, datasets: dict[str, Dataset]) -> None:
    """Add the datasets between a dataset and the top of its pool, which only contain others."""
    steps = dataset.name.split("/")
    for length in range(2, len(steps)):
        name = "/".join(steps[:length])
        above = datasets["/".join(steps[: length - 1])]
        datasets.setdefault(name, Dataset(name, f"{(above.mountpoint or '').rstrip('/')}/{steps[length - 1]}"))


def _exports(cluster: Cluster, node: Node) -> Iterator[Dataset]:
    shared = cluster.home_export
    for mount in cluster.mounts:
        if mount.server != node.name or mount.dataset is None:
            continue
        entry = mount.entry
        properties = {**PROFILES.get(entry.profile or "", {}), **entry.properties}
        home, each = cluster.storage.home, entry.user_quota
        quota = home.quota if mount == shared else each and each.hard
        files = home.files if mount == shared else each and each.files
        yield Dataset(
            mount.dataset,
            mount.path,
            {**properties, **_sizes(entry.size, entry.reservation)},
            user_quotas={str(user.uid): quota * _MIB for user in cluster.users.values()} if quota else {},
            user_files={str(user.uid): files for user in cluster.users.values()} if files else {},
            group_quotas=_group_quotas(cluster, mount.export),
            snapshots={str(kind): count for kind, count in entry.snapshots.items()},
        )


def _local(cluster: Cluster, node: Node, pools: tuple[Placed, ...]) -> Iterator[Dataset]:
    for local in cluster.storage.local:
        if local.fs == "zfs" and node.name in cluster.select(local.where):
            name = dataset_of(local, pools)
            if name is not None:
                yield Dataset(name, local.path, _sizes(local.size, None))


def _sizes(quota: int | None, reservation: int | None) -> dict[str, str]:
    # Values that the inventory does not set stay as they are.
    return {key: str(mib * _MIB) for key, mib in (("quota", quota), ("reservation", reservation)) if mib}


def _group_quotas(cluster: Cluster, export: str) -> dict[str, int]:
    """Return the quotas in bytes of each account's users together, on an export with user spaces by account."""
    mount = next(mount for mount in cluster.mounts if mount.export == export)
    quotas: dict[str, int] = {}
    for space in cluster.storage.user_spaces:
        if space.quota and mount.holds(space.path.partition("{")[0].rstrip("/")):
            for account in cluster.accounts.values():
                if account.entry.gid and account.tier in space.quota:
                    quotas[str(account.entry.gid)] = space.quota[account.tier] * _MIB
    return quotas
