"""What of the cluster's storage a node has: exports it serves, mounts, links, directories of its own."""

from dataclasses import dataclass

from gpupool.cluster.model import Cluster, Mount, Node


@dataclass(frozen=True)
class MountPoint:
    """One mount of a node, as its kernel needs it.

    With `automount` it is made when somebody first looks; `timeout` in seconds is what the server has to answer, 0 for
    ever.
    """

    path: str
    source: str
    fstype: str
    options: str
    automount: bool = False
    timeout: int = 30


@dataclass(frozen=True)
class Link:
    """A symbolic link, owned by root."""

    path: str
    target: str


def mounts_for(cluster: Cluster, node: Node) -> tuple[MountPoint, ...]:
    """Return the mounts of a node as a client, in inventory order, through the cluster's storage driver."""
    return tuple(
        _network(cluster, mount)
        if cluster.drivers.real_storage(mount.server, node.name)
        else _stand_in(cluster, mount, mount.at)
        for mount in cluster.mounts
        if node.name in mount.clients
    )


def stand_ins_for(cluster: Cluster, node: Node) -> tuple[MountPoint, ...]:
    """Return the mounts of a server that stand for its own disks; none where it has them."""
    if cluster.drivers.real_storage(node.name):
        return ()
    return tuple(_stand_in(cluster, mount, mount.path) for mount in served_by(cluster, node))


def _stand_in(cluster: Cluster, mount: Mount, path: str) -> MountPoint:
    # a directory that all nodes of a testbed share, bound to its place
    return MountPoint(path, f"{cluster.drivers.shared}/{mount.export}", "none", "bind")


def _network(cluster: Cluster, mount: Mount) -> MountPoint:
    if mount.fs == "ceph":
        options = ("_netdev", "noatime", *mount.options)
        return MountPoint(mount.at, mount.source, "ceph", ",".join(options), automount=True)
    # hard: a server that is away makes programs wait, it does not make them lose data
    fstype, version = ("nfs4", "4.2") if 4 in cluster.storage.nfs_versions else ("nfs", "3")
    options = ("_netdev", "hard", "noatime", f"vers={version}")
    if mount.holds(cluster.slurm.state):
        # slurmctld's unit needs it, and no unit of systemd tries a mount twice: so mount.nfs itself does, for a week
        options = (*options, "retry=10080", *mount.options)
        return MountPoint(mount.at, mount.source, fstype, ",".join(options), automount=False, timeout=0)
    return MountPoint(mount.at, mount.source, fstype, ",".join((*options, *mount.options)), automount=True)


def links_for(cluster: Cluster, node: Node) -> tuple[Link, ...]:
    """Return the node's links under /srv in inventory order."""
    if node.name not in cluster.links_on:
        return ()
    return tuple(Link(path, target) for path, target in cluster.links.items())


def local_for(cluster: Cluster, node: Node) -> tuple[tuple[str, str], ...]:
    """Return the (path, mode) of the node's own directories; with `user_dirs` the mode is that of the users' own."""
    return tuple(
        (local.path, "1777" if local.user_dirs else local.mode)
        for local in cluster.storage.local
        if node.name in cluster.select(local.where)
    )


def served_by(cluster: Cluster, node: Node) -> tuple[Mount, ...]:
    """Return the exports that a node serves."""
    return tuple(mount for mount in cluster.mounts if mount.server == node.name)


def spaces_on(cluster: Cluster, node: Node) -> dict[str, list[str]]:
    """Return the accounts that have a space on each export of a node, by the export's path on that node."""
    found: dict[str, list[str]] = {}
    for mount in served_by(cluster, node):
        accounts = [name for name, spaces in cluster.storage.spaces.items() if mount.export in spaces.values()]
        if accounts:
            found[mount.path] = accounts
    return found


def home_of_homes(cluster: Cluster) -> Mount | None:
    """Return the export that holds the homes; None where homes are each node's own."""
    return next((mount for mount in cluster.mounts if mount.export == cluster.storage.home.export), None)
