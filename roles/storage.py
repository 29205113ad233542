"""The cluster's storage: exports and homes on the servers, mounts and /srv links on those who use them."""

from gpupool.cluster.model import PEOPLE_GID, Cluster, Node
from gpupool.operations import files, homes, mounts
from gpupool.operations.files import Directory
from gpupool.operations.homes import HomeEntry
from gpupool.operations.units import MountEntry
from gpupool.system.storage import MountPoint, home_of_homes, links_for, local_for, mounts_for, served_by, stand_ins_for


def serve(cluster: Cluster, node: Node) -> None:
    """On the server: the directories behind the exports, and everybody's home."""
    if stand_ins := stand_ins_for(cluster, node):
        mounts.mounted(name="Stand-in disks", mounts=_entries(stand_ins))
    files.put(name="Exports", directories=[Directory(mount.path) for mount in served_by(cluster, node)])
    shared = home_of_homes(cluster)
    if shared and shared.server == node.name:
        homes.present(
            name="Homes",
            homes=[
                HomeEntry(
                    path=user.home.replace(shared.at, shared.path, 1),
                    uid=user.uid,
                    gid=user.gid or PEOPLE_GID,
                    mode=cluster.storage.home.mode,
                    keys=user.keys,
                )
                for user in cluster.users.values()
            ],
        )


def use(cluster: Cluster, node: Node) -> None:
    """On everybody else: mounts, links, and directories of the node's own."""
    if wanted := mounts_for(cluster, node):
        mounts.mounted(name="Mounts", mounts=_entries(wanted))
    files.put(
        name="Own directories",
        directories=[Directory(path, mode=mode) for path, mode in local_for(cluster, node)],
    )
    files.put(name="Links", links={link.path: link.target for link in links_for(cluster, node)})


def _entries(points: tuple[MountPoint, ...]) -> list[MountEntry]:
    return [MountEntry(it.path, it.source, it.fstype, it.options) for it in points]
