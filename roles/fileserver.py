"""A fileserver: ZFS pools and datasets, what they do by themselves, and NFS exports; pools also on other nodes."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import exports, files, service, zfs
from gpupool.operations.exports import ExportEntry
from gpupool.operations.zfs import DatasetEntry, PoolEntry, VdevEntry
from gpupool.system.exports import EXPORTS, NFS_CONF, exports_for
from gpupool.system.zfs import datasets_for, pools_for
from gpupool.zfs_timers import HEALTH, SCRUB, SNAPSHOTS

# Debian enables them when ZFS comes; golden images and careful admins disable what has nothing to do yet.
_POOLS_AT_BOOT = [
    "zfs-load-module.service",
    "zfs-import-cache.service",
    "zfs-import.target",
    "zfs-mount.service",
    "zfs.target",
]


def disks(cluster: Cluster, node: Node) -> None:
    """Before anything is written to an export: what is written first would lie below the dataset."""
    own = [file for file in files_of(cluster, node, "fileserver") if file.path not in (EXPORTS, NFS_CONF)]
    pools = _pools(cluster, node)
    zfs.pools(name="Pools", wanted=pools)
    zfs.datasets(name="Datasets", wanted=_datasets(cluster, node))
    if pools:
        service.at_boot(name="Pools at boot", units=_POOLS_AT_BOOT)
    files.put(name="Care of pools", files=own)
    service.running(name="Snapshots", unit=f"{SNAPSHOTS}.timer", restart_if=[f"/etc/systemd/system/{SNAPSHOTS}.timer"])
    service.running(name="Scrubs", unit=f"{SCRUB}.timer", restart_if=[f"/etc/systemd/system/{SCRUB}.timer"])
    service.running(name="Health", unit=f"{HEALTH}.timer", restart_if=[f"/etc/systemd/system/{HEALTH}.timer"])


def give(cluster: Cluster, node: Node) -> None:
    """After the directories are there: exports, and nfsd. A server that has none any more gives nothing away."""
    own = [file for file in files_of(cluster, node, "fileserver") if file.path in (EXPORTS, NFS_CONF)]
    wanted = [ExportEntry(it.path, list(it.clients), list(it.options)) for it in exports_for(cluster, node)]
    files.put(name="NFS settings", files=own, absent={} if own else {EXPORTS: "# written by gpupool"})
    exports.exported(name="NFS exports", wanted=wanted, file=EXPORTS)
    if own:
        service.running(name="NFS server", unit="nfs-server", restart_if=[NFS_CONF])


def keep(cluster: Cluster, node: Node) -> None:
    """Last: what has to stay as it is fails here, when all else is done."""
    zfs.kept(name="What ZFS keeps", pools=_pools(cluster, node), datasets=_datasets(cluster, node))


def _pools(cluster: Cluster, node: Node) -> list[PoolEntry]:
    tops = {it.name: it.mountpoint for it in datasets_for(cluster, node)}
    return [
        PoolEntry(it.name, [VdevEntry(vdev.kind, list(vdev.disks)) for vdev in it.vdevs], it.properties, tops[it.name])
        for it in pools_for(cluster, node)
    ]


def _datasets(cluster: Cluster, node: Node) -> list[DatasetEntry]:
    return [
        DatasetEntry(it.name, it.mountpoint, it.properties, it.user_quotas, it.group_quotas)
        for it in datasets_for(cluster, node)
    ]
