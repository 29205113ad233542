"""What of the cluster's storage a node has: exports it serves, mounts, links, directories of its own."""

from collections.abc import Iterator

from gpupool import wanted
from gpupool.cluster.model import Cluster, Mount, Node
from gpupool.compile.system.mounts import with_units
from gpupool.compile.system.spaces import tops_for
from gpupool.wanted import Directory, File

#: What the kernel calls a kind of file system; nothing for one that may be any.
_KERNELS = {"weka": "wekafs", "plain": ""}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the unit files of its mounts."""
    for mount in (*stand_ins_for(cluster, node), *mounts_for(cluster, node)):
        yield from mount.units


def mounts_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return the mounts that a node makes as a client, in inventory order, through the cluster's storage driver."""
    return [
        with_units(
            _network(cluster, mount)
            if cluster.drivers.real_storage(mount.server, node.name)
            else _stand_in(cluster, mount, mount.at)
        )
        for mount in cluster.mounts
        if node.name in mount.clients and not mount.by_site
    ]


def theirs_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return the mounts that others make on a node, in inventory order: without units."""
    # what stands for one in a container is of another kind
    contained = cluster.drivers.contained(node.name)
    return [
        wanted.Mount(
            mount.at,
            f"the site's {mount.export}",
            "" if contained else _KERNELS.get(mount.entry.fs, mount.entry.fs),
            options="",
        )
        for mount in cluster.mounts
        if mount.by_site and node.name in mount.clients
    ]


def used_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return all that shall be mounted on a node, by whomever; in inventory order."""
    order = {mount.at: number for number, mount in enumerate(cluster.mounts)}
    return sorted((*mounts_for(cluster, node), *theirs_for(cluster, node)), key=lambda mount: order[mount.path])


def needed_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return what must be mounted on a node by others before it makes directories there."""
    own = {it.at for it in cluster.mounts if it.by_site and it.server == node.name}
    return [it for it in theirs_for(cluster, node) if it.path in own]


def stand_ins_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return the mounts of a server that stand for its own disks; none where it has them."""
    if cluster.drivers.real_storage(node.name):
        return []
    return [with_units(_stand_in(cluster, mount, mount.path)) for mount in served_by(cluster, node)]


def _stand_in(cluster: Cluster, mount: Mount, path: str) -> wanted.Mount:
    # a directory that all nodes of a testbed share, bound to its place
    return wanted.Mount(path, f"{cluster.drivers.shared}/{mount.export}", "none", "bind")


def _network(cluster: Cluster, mount: Mount) -> wanted.Mount:
    if mount.entry.fs == "ceph":
        options = ("_netdev", "noatime", *mount.entry.options)
        return wanted.Mount(mount.at, mount.source, "ceph", ",".join(options), automount=True)
    # hard: a server that is away makes programs wait, it does not make them lose data
    fstype, version = ("nfs4", "4.2") if 4 in cluster.storage.nfs_versions else ("nfs", "3")
    options = ("_netdev", "hard", "noatime", f"vers={version}")
    if mount.holds(cluster.slurm.state):
        # slurmctld's unit needs it, and no unit of systemd tries a mount twice: so mount.nfs itself does, for a week
        options = (*options, "retry=10080", *mount.entry.options)
        return wanted.Mount(mount.at, mount.source, fstype, ",".join(options), automount=False, timeout=0)
    return wanted.Mount(mount.at, mount.source, fstype, ",".join((*options, *mount.entry.options)), automount=True)


def links_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the node's links under /srv in inventory order, path to target."""
    return dict(cluster.links) if node.name in cluster.links_on else {}


def local_for(cluster: Cluster, node: Node) -> list[Directory]:
    """Return the node's own directories; with `user_dirs` the inventory's mode is that of the users' own."""
    return [
        Directory(local.path, mode="1777" if local.user_dirs else local.mode)
        for local in cluster.storage.local
        if node.name in cluster.select(local.where)
    ]


def exported_for(cluster: Cluster, node: Node) -> list[Directory]:
    """Return the directories behind a server's exports; those of labs' spaces are not among them."""
    tops = {top.path for top in tops_for(cluster, node)}
    return [Directory(it.path) for it in served_by(cluster, node) if it.path not in tops]


def served_by(cluster: Cluster, node: Node) -> tuple[Mount, ...]:
    """Return the exports that a node serves."""
    return tuple(mount for mount in cluster.mounts if mount.server == node.name and not mount.by_site)
