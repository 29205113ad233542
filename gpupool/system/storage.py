"""What of the cluster's storage a node has: exports it serves, mounts, links, directories of its own."""

from dataclasses import dataclass

from gpupool.cluster.model import Cluster, Mount, Node


@dataclass(frozen=True)
class MountPoint:
    """One mount of a node, as its kernel needs it."""

    path: str
    source: str
    fstype: str
    options: str


@dataclass(frozen=True)
class Link:
    """A symbolic link, owned by root."""

    path: str
    target: str


def mounts_for(cluster: Cluster, node: Node) -> tuple[MountPoint, ...]:
    """Give the mounts of a node as a client, in inventory order, through the cluster's storage driver."""
    return tuple(
        _stand_in(cluster, mount, mount.at)
        if cluster.drivers.storage == "standin"
        else MountPoint(mount.at, mount.source, *_network(mount))
        for mount in cluster.mounts
        if node.name in mount.clients
    )


def stand_ins_for(cluster: Cluster, node: Node) -> tuple[MountPoint, ...]:
    """Give the mounts of a server that stand for its own disks; none where it has them."""
    if cluster.drivers.storage != "standin":
        return ()
    return tuple(_stand_in(cluster, mount, mount.path) for mount in served_by(cluster, node))


def _stand_in(cluster: Cluster, mount: Mount, path: str) -> MountPoint:
    # a directory that all nodes of a testbed share, bound to its place
    return MountPoint(path, f"{cluster.drivers.shared}/{mount.export}", "none", "bind")


def _network(mount: Mount) -> tuple[str, str]:
    if mount.fs == "ceph":
        return "ceph", "_netdev,noatime"
    # hard: a server that is away makes programs wait, it does not make them lose data
    return "nfs4", "_netdev,hard,noatime"


def links_for(cluster: Cluster, node: Node) -> tuple[Link, ...]:
    """Give the node's links under /srv in inventory order."""
    if node.name not in cluster.links_on:
        return ()
    return tuple(Link(path, target) for path, target in cluster.links.items())


def local_for(cluster: Cluster, node: Node) -> tuple[tuple[str, str], ...]:
    """Give the (path, mode) of the node's own directories; with `user_dirs` the mode is that of the users' own."""
    return tuple(
        (local.path, "1777" if local.user_dirs else local.mode)
        for local in cluster.storage.local
        if node.name in cluster.select(local.where)
    )


def served_by(cluster: Cluster, node: Node) -> tuple[Mount, ...]:
    """Give the exports that a node serves."""
    return tuple(mount for mount in cluster.mounts if mount.server == node.name)


def spaces_on(cluster: Cluster, node: Node) -> dict[str, list[str]]:
    """Give the accounts that have a space on each export of a node, by the export's path on that node."""
    found: dict[str, list[str]] = {}
    for mount in served_by(cluster, node):
        accounts = [name for name, spaces in cluster.storage.spaces.items() if mount.export in spaces.values()]
        if accounts:
            found[mount.path] = accounts
    return found


def home_of_homes(cluster: Cluster) -> Mount | None:
    """Give the export that holds the homes; None where homes are each node's own."""
    return next((mount for mount in cluster.mounts if mount.export == cluster.storage.home.export), None)
