"""A fileserver: ZFS pools and datasets with their timers, and NFS exports. Other nodes may have pools, too."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import exports as nfs
from gpupool.compile.system.fileserver import HEALTH, SCRUB, SNAPSHOTS, timers
from gpupool.compile.system.zfs import datasets_for, pools_for
from gpupool.operations import exports, files, service, zfs
from gpupool.roles import where
from gpupool.unix import UNITS

# Debian's ZFS packages enable these units, but an admin or an image may have disabled them.
_POOLS_AT_BOOT = [
    "zfs-load-module.service",
    "zfs-import-cache.service",
    "zfs-import.target",
    "zfs-mount.service",
    "zfs.target",
]


def applies(cluster: Cluster, node: Node) -> bool:
    """On servers, and on other nodes with pools."""
    return has_pools(cluster, node) or is_server(cluster, node)


def has_pools(cluster: Cluster, node: Node) -> bool:
    """On nodes with ZFS pools."""
    return bool(pools_for(cluster, node))


def is_server(cluster: Cluster, node: Node) -> bool:
    """On servers, also without exports: the last export of a server must be removed, too."""
    return node.has("fileserver") or bool(nfs.exports_for(cluster, node))


@where(has_pools)
def disks(cluster: Cluster, node: Node) -> None:
    """Create pools and datasets before any export is written to: the mount of a dataset would hide earlier files."""
    pools = pools_for(cluster, node)
    zfs.pools(name="Pools", wanted=pools)
    zfs.datasets(name="Datasets", wanted=datasets_for(cluster, node))
    if pools:
        service.at_boot(name="Pools at boot", units=_POOLS_AT_BOOT)
    files.put(name="Care of pools", files=list(timers(cluster, node)))
    service.timer(name="Snapshots", path=f"{UNITS}/{SNAPSHOTS}.timer")
    service.timer(name="Scrubs", path=f"{UNITS}/{SCRUB}.timer")
    service.timer(name="Health", path=f"{UNITS}/{HEALTH}.timer")


@where(is_server)
def export(cluster: Cluster, node: Node) -> None:
    """Set the exports and start nfsd, after the directories exist. If no export is left, the old ones are removed."""
    own = list(nfs.files(cluster, node))
    files.put(name="NFS settings", files=own)
    exports.exported(name="NFS exports", wanted=nfs.exports_for(cluster, node), file=nfs.EXPORTS)
    if own:
        service.running(name="NFS server", unit="nfs-server", restart_if=[nfs.NFS_CONF])


@where(has_pools)
def check_pools(cluster: Cluster, node: Node) -> None:
    """Fail if changes of pools or datasets were refused to protect data; late, to delay no other step."""
    zfs.report_refused(name="Refused ZFS changes", pools=pools_for(cluster, node), datasets=datasets_for(cluster, node))
