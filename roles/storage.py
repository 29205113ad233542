"""The cluster's storage: directories behind exports on the servers, mounts and /srv links on those who use them."""

from gpupool.cluster.model import Cluster, Node
from gpupool.operations import files, mounts
from gpupool.operations.files import Directory
from gpupool.operations.units import MountEntry
from gpupool.system.spaces import tops_for
from gpupool.system.storage import MountPoint, links_for, local_for, mounts_for, served_by, stand_ins_for


def serve(cluster: Cluster, node: Node) -> None:
    """On the server, when its disks are there: the directories behind the exports; those of spaces have their own."""
    if stand_ins := stand_ins_for(cluster, node):
        mounts.mounted(name="Stand-in disks", mounts=_entries(stand_ins))
    tops = {top.path for top in tops_for(cluster, node)}
    plain = [Directory(it.path) for it in served_by(cluster, node) if it.path not in tops]
    files.put(name="Exports", directories=plain)


def use(cluster: Cluster, node: Node) -> None:
    """On everybody else: mounts, links, and directories of the node's own. No server is waited for, but for Slurm's."""
    if wanted := mounts_for(cluster, node):
        mounts.mounted(name="Mounts", mounts=_entries(wanted))
    files.put(
        name="Own directories",
        directories=[Directory(path, mode=mode) for path, mode in local_for(cluster, node)],
    )
    files.put(name="Links", links={link.path: link.target for link in links_for(cluster, node)})


def look(cluster: Cluster, node: Node) -> None:
    """When all else is done: what is mounted can be used, or is named. The look makes mounts that wait for one."""
    if wanted := mounts_for(cluster, node):
        mounts.answering(name="Storage", mounts=_entries(wanted))


def _entries(points: tuple[MountPoint, ...]) -> list[MountEntry]:
    return [
        MountEntry(it.path, it.source, it.fstype, it.options, timeout=it.timeout, automount=it.automount)
        for it in points
    ]
