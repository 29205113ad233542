"""The exports of a fileserver and their clients: /etc/exports.d/gpupool.exports, and nfsd's settings."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.wanted import Export, File

EXPORTS = "/etc/exports.d/gpupool.exports"
NFS_CONF = "/etc/nfs.conf.d/gpupool.conf"

_SQUASH = {"root": "root_squash", "none": "no_root_squash", "all": "all_squash"}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the exports and nfsd's settings of a node that exports anything."""
    if exports_for(cluster, node):
        yield exports_file(cluster, node)
        yield nfs_conf(cluster, node)


def exports_for(cluster: Cluster, node: Node) -> list[Export]:
    """Return what a node exports by NFS, sorted by path; empty if a testbed's directories replace it."""
    if not cluster.drivers.real_storage(node.name):
        return []
    exports = (
        Export(mount.path, _clients(cluster, mount), _options(mount))
        for mount in cluster.mounts
        if mount.server == node.name and mount.entry.fs != "ceph" and not mount.by_site
    )
    return sorted((export for export in exports if export.clients), key=lambda export: export.path)


def exports_file(cluster: Cluster, node: Node) -> File:
    """Return the file of a node's exports; other lines are in /etc/exports and stay there."""
    lines = ["# written by gpupool; your own lines belong in /etc/exports"]
    for export in exports_for(cluster, node):
        lines.append(" ".join([export.path, f"-{','.join(export.options)}", *export.clients]))
    return File(EXPORTS, "\n".join(lines) + "\n")


def nfs_conf(cluster: Cluster, node: Node) -> File:
    """Return nfsd's settings: NFS versions, and 8 threads for each CPU, 8 to 128 in total."""
    three = "y" if 3 in cluster.storage.nfs_versions else "n"
    four = "y" if 4 in cluster.storage.nfs_versions else "n"
    threads = min(max(8 * node.cpus, 8), 128)
    text = f"# written by gpupool\n[nfsd]\nthreads={threads}\nvers3={three}\nvers4={four}\n"
    return File(NFS_CONF, text)


def _clients(cluster: Cluster, mount: Mount) -> tuple[str, ...]:
    nodes = [cluster.nodes[name] for name in mount.nodes if name in cluster.nodes]
    real = [node for node in nodes if cluster.drivers.real_storage(mount.server, node.name)]
    if network := mount.entry.network:
        # A node that gpupool does not manage may have no address there: it cannot mount the export.
        return tuple(node.addresses[network] for node in real if network in node.addresses)
    if any(node.address is None for node in real):
        # A node without an address may later have any address of the network.
        return (cluster.entry.network,)
    return tuple(node.address for node in real if node.address)


def _options(mount: Mount) -> tuple[str, ...]:
    options = ("rw", "sync", "no_subtree_check", _SQUASH[mount.entry.squash], "crossmnt")
    # With `mountpoint`, nothing is exported before the dataset is mounted: clients would write to the directory below.
    return (*options, "mountpoint") if mount.dataset else options
