"""Labs' spaces, homes and people's own folders, where they lie; and the variables that name them."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files, homes, spaces
from gpupool.operations.homes import HomeEntry
from gpupool.operations.spaces import FolderEntry, TopEntry
from gpupool.system.spaces import folders_for, homes_for, skeleton, tops_for


def apply(cluster: Cluster, node: Node) -> None:
    """After the node's own disks are there, and never on what it mounts from others: a server may be away."""
    files.put(name="Variables of spaces", files=files_of(cluster, node, "spaces"))
    if tops := tops_for(cluster, node):
        spaces.tops(name="Spaces", wanted=[TopEntry(it.path, it.gid, it.mode, it.groups) for it in tops])
    if own := homes_for(cluster, node):
        homes.present(
            name="Homes",
            homes=[HomeEntry(it.path, it.uid, it.gid, it.mode, it.keys) for it in own],
            skeleton=skeleton(cluster),
        )
    if folders := folders_for(cluster, node):
        spaces.folders(name="Folders", wanted=[FolderEntry(it.path, it.uid, it.gid, it.mode) for it in folders])
