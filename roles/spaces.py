"""Spaces of labs, homes and folders of users, on the nodes with their disks; and the variables with their paths."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.spaces import folders_for, homes_for, skeleton, tops_for
from gpupool.compile.system.storage import needed_for
from gpupool.operations import files, homes, keys, mounts, spaces
from gpupool.roles import everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Create directories after the node's disks are mounted, never on mounts of other servers, which may be down."""
    files.put(name="Variables of spaces", files=files_of(cluster, node, "spaces"))
    if needed := needed_for(cluster, node):
        mounts.made_by_others(name="Mounts of the site", mounts=needed)
    if tops := tops_for(cluster, node):
        spaces.tops(name="Spaces", wanted=tops)
    if own := homes_for(cluster, node):
        homes.present(name="Homes", homes=own, skeleton=skeleton(cluster))
    if own or not cluster.users:
        keys.managed(name="Keys of homes", wanted={home.path: home.keys for home in own})
    if folders := folders_for(cluster, node):
        spaces.folders(name="Folders", wanted=folders)
