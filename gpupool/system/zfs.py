"""What ZFS of a node is to hold: pools, datasets with their properties, quotas and snapshots, as plain data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.pools import Placed, dataset_of, pools_on
from gpupool.system.storage import home_of_homes
from gpupool.zfs_properties import PROFILES, plain

DEFAULTS = {"compression": "lz4", "atime": "off", "xattr": "sa", "acltype": "posix"}
_MIB = 1024 * 1024


@dataclass(frozen=True)
class Vdev:
    """A group of disks: `kind` is mirror, raidz1 to 3, stripe, log, cache, special or spare; disks by absolute path."""

    kind: str
    disks: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words that `zpool create` and `zpool add` take for it."""
        if self.kind == "stripe":
            return self.disks
        if self.kind in ("log", "special") and len(self.disks) > 1:
            return (self.kind, "mirror", *self.disks)
        return (self.kind, *self.disks)


@dataclass(frozen=True)
class Pool:
    """A pool, properties as `zpool get -p` prints them; without vdevs it has to be there.

    `scrub` is a word of systemd's OnCalendar, None for never.
    """

    name: str
    vdevs: tuple[Vdev, ...]
    properties: Mapping[str, str] = field(default_factory=dict)
    scrub: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A dataset: its own properties as `zfs get -p` prints them, sizes in bytes; what is not named is inherited.

    Quotas in bytes by uid and by gid; `snapshots` says how many of each kind (hourly, daily, weekly, monthly) are kept.
    """

    name: str
    mountpoint: str
    properties: Mapping[str, str] = field(default_factory=dict)
    user_quotas: Mapping[str, int] = field(default_factory=dict)
    group_quotas: Mapping[str, int] = field(default_factory=dict)
    snapshots: Mapping[str, int] = field(default_factory=dict)


def pools_for(cluster: Cluster, node: Node) -> tuple[Pool, ...]:
    """Return the pools of a node in inventory order; none where a testbed's directories stand for its disks."""
    return tuple(
        Pool(
            it.name,
            tuple(Vdev(vdev.kind, vdev.disks) for vdev in it.entry.vdevs),
            {key: plain(key, value) for key, value in it.entry.properties.items()},
            it.entry.scrub,
        )
        for it in _pools(cluster, node)
    )


def datasets_for(cluster: Cluster, node: Node) -> tuple[Dataset, ...]:
    """Return the datasets of a node, parents first; the first of each pool is its top, with the pool's defaults."""
    pools = _pools(cluster, node)
    found = {it.name: _top(it) for it in pools}
    named = (*_exports(cluster, node), *_local(cluster, node, pools)) if pools else ()
    for dataset in sorted(named, key=_depth):
        _between(dataset, found)
        top = found.get(dataset.name)
        found[dataset.name] = replace(dataset, properties={**(top.properties if top else {}), **dataset.properties})
    return tuple(sorted(found.values(), key=_depth))


def _depth(dataset: Dataset) -> list[str]:
    return dataset.name.split("/")


def _pools(cluster: Cluster, node: Node) -> tuple[Placed, ...]:
    if not cluster.drivers.real_storage(node.name):
        return ()
    return pools_on(cluster.storage, node.name, cluster.select)


def _top(pool: Placed) -> Dataset:
    said = {key: plain(key, value) for key, value in pool.entry.defaults.items()}
    return Dataset(pool.name, pool.at, {**DEFAULTS, **said})


def _between(dataset: Dataset, found: dict[str, Dataset]) -> None:
    """Add the datasets between a dataset and the top of its pool, which only hold what is below them."""
    steps = dataset.name.split("/")
    for length in range(2, len(steps)):
        name = "/".join(steps[:length])
        above = found["/".join(steps[: length - 1])]
        found.setdefault(name, Dataset(name, f"{above.mountpoint.rstrip('/')}/{steps[length - 1]}"))


def _exports(cluster: Cluster, node: Node) -> Iterator[Dataset]:
    shared = home_of_homes(cluster)
    for mount in cluster.mounts:
        if mount.server != node.name or mount.dataset is None:
            continue
        entry = cluster.storage.exports[mount.export]
        properties = {**PROFILES.get(entry.profile or "", {}), **entry.properties}
        quota = cluster.storage.home.quota if mount == shared else None
        yield Dataset(
            mount.dataset,
            mount.path,
            {**{key: plain(key, value) for key, value in properties.items()}, **_sizes(entry.size, entry.reservation)},
            {str(user.uid): quota * _MIB for user in cluster.users.values()} if quota else {},
            _group_quotas(cluster, mount.export),
            {str(kind): count for kind, count in entry.snapshots.items()},
        )


def _local(cluster: Cluster, node: Node, pools: tuple[Placed, ...]) -> Iterator[Dataset]:
    for local in cluster.storage.local:
        if local.fs == "zfs" and node.name in cluster.select(local.where):
            name = dataset_of(local, pools)
            if name is not None:
                yield Dataset(name, local.path, _sizes(local.size, None))


def _sizes(quota: int | None, reservation: int | None) -> dict[str, str]:
    # what the inventory does not say is left as it is
    return {key: str(mib * _MIB) for key, mib in (("quota", quota), ("reservation", reservation)) if mib}


def _group_quotas(cluster: Cluster, export: str) -> dict[str, int]:
    """Return what each account's users may have together, where directories of users by account lie on an export."""
    mount = next(it for it in cluster.mounts if it.export == export)
    found: dict[str, int] = {}
    for space in cluster.storage.user_spaces:
        if space.quota and mount.holds(space.path.partition("{")[0].rstrip("/")):
            for account in cluster.accounts.values():
                if account.gid and account.tier in space.quota:
                    found[str(account.gid)] = space.quota[account.tier] * _MIB
    return found
