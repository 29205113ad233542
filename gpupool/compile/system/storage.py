"""The storage of a node: exports that it serves, mounts, links and local directories."""

from collections.abc import Iterator

from gpupool import wanted
from gpupool.cluster.model import Cluster
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.compile.system.mounts import with_units
from gpupool.compile.system.spaces import tops_for
from gpupool.wanted import Directory, File

#: Options with which setuid programs and devices on a mount have no effect.
_NO_PRIVILEGES = ("nosuid", "nodev")
#: The kernel's names of file systems; empty if it may be any.
_KERNELS = {"weka": "wekafs", "plain": ""}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the unit files of a node's mounts."""
    for mount in (*stand_ins_for(cluster, node), *mounts_for(cluster, node)):
        yield from mount.units


def mounts_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return the mounts that a node makes as a client, in inventory order; bind mounts on a testbed."""
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
    """Return the mounts that the site makes on a node, in inventory order, without units.

    Several exports may be directories of one of them.
    """
    return _theirs(cluster, node, [mount for mount in cluster.mounts if mount.by_site and node.name in mount.clients])


def mount_point_of(cluster: Cluster, node: Node, mount: Mount) -> str:
    """Return where a node that has a mount looks for it; in a container, a replacement is at the directory itself."""
    return mount.at if cluster.drivers.contained(node.name) else mount.mount_point


def _theirs(cluster: Cluster, node: Node, mounts: list[Mount]) -> list[wanted.Mount]:
    # In a container, a replacement has another type.
    contained = cluster.drivers.contained(node.name)
    by_place: dict[str, list[Mount]] = {}
    for mount in mounts:
        by_place.setdefault(mount_point_of(cluster, node, mount), []).append(mount)
    return [
        wanted.Mount(
            place,
            f"the site's {', '.join(mount.export for mount in sharing)}",
            "" if contained else _KERNELS.get(sharing[0].entry.fs, sharing[0].entry.fs),
            options="",
        )
        for place, sharing in by_place.items()
    ]


def used_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return all mounts that a node must have, by gpupool and by the site, in inventory order."""
    order = {place: number for number, place in enumerate(_places(cluster, node))}
    return sorted((*mounts_for(cluster, node), *theirs_for(cluster, node)), key=lambda mount: order[mount.path])


def _places(cluster: Cluster, node: Node) -> list[str]:
    """Return where a node mounts exports, in inventory order, each once."""
    return list(dict.fromkeys(mount_point_of(cluster, node, mount) for mount in cluster.mounts))


def needed_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return the site's mounts that must exist on a node before it creates directories there."""
    own = [mount for mount in cluster.mounts if mount.by_site and mount.server == node.name in mount.clients]
    return _theirs(cluster, node, own)


def stand_ins_for(cluster: Cluster, node: Node) -> list[wanted.Mount]:
    """Return the mounts of a server that replace its own disks; empty if it has real ones."""
    if cluster.drivers.real_storage(node.name):
        return []
    return [with_units(_stand_in(cluster, mount, mount.path)) for mount in served_by(cluster, node)]


def _stand_in(cluster: Cluster, mount: Mount, path: str) -> wanted.Mount:
    # A directory that all nodes of a testbed share, bound to its path.
    return wanted.Mount(path, f"{cluster.drivers.shared}/{mount.export}", "none", "bind")


def _network(cluster: Cluster, mount: Mount) -> wanted.Mount:
    if mount.entry.fs == "ceph":
        options = ("_netdev", "noatime", *_of_users(mount))
        return wanted.Mount(mount.at, mount.source, "ceph", ",".join(options), automount=True)
    # hard: while the server is down, programs wait instead of losing data.
    fstype, version = ("nfs4", "4.2") if 4 in cluster.storage.nfs_versions else ("nfs", "3")
    options = ("_netdev", "hard", "noatime", f"vers={version}")
    if mount.holds(cluster.slurm.state):
        # slurmctld's unit requires this mount, and systemd never retries a mount: so mount.nfs itself retries, for a
        # week.
        options = (*options, "retry=10080", *_of_users(mount))
        return wanted.Mount(mount.at, mount.source, fstype, ",".join(options), automount=False, timeout=0)
    return wanted.Mount(mount.at, mount.source, fstype, ",".join((*options, *_of_users(mount))), automount=True)


def _of_users(mount: Mount) -> tuple[str, ...]:
    """Return nosuid and nodev, unless the inventory has their opposites, then the options of the inventory.

    A user who is root on another node could otherwise leave a setuid program of another user, or a device, there.
    """
    given = mount.entry.options
    return (*(word for word in _NO_PRIVILEGES if word.removeprefix("no") not in given and word not in given), *given)


def links_for(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the node's links under /srv in inventory order, path to target."""
    return dict(cluster.links) if node.name in cluster.links_on else {}


def local_for(cluster: Cluster, node: Node) -> list[Directory]:
    """Return the node's local directories; with `user_dirs`, the inventory's mode is that of users' folders in them."""
    return [
        Directory(local.path, mode="1777" if local.user_dirs else local.mode)
        for local in cluster.storage.local
        if node.name in cluster.select(local.where)
    ]


def exported_for(cluster: Cluster, node: Node) -> list[Directory]:
    """Return the directories of a server's exports, without those of labs' spaces."""
    tops = {top.path for top in tops_for(cluster, node)}
    return [Directory(export.path) for export in served_by(cluster, node) if export.path not in tops]


def served_by(cluster: Cluster, node: Node) -> tuple[Mount, ...]:
    """Return the exports that a node serves."""
    return tuple(mount for mount in cluster.mounts if mount.server == node.name and not mount.by_site)
