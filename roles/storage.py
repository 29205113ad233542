"""The cluster's storage: directories behind exports on the servers, mounts and /srv links on those who use them."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.system.storage import (
    exported_for,
    links_for,
    local_for,
    mounts_for,
    served_by,
    stand_ins_for,
    used_for,
)
from gpupool.operations import files, mounts
from gpupool.roles import everywhere, where

applies = everywhere


def serves(cluster: Cluster, node: Node) -> bool:
    """On servers of mounts."""
    return bool(served_by(cluster, node))


@where(serves)
def serve(cluster: Cluster, node: Node) -> None:
    """On the server, when its disks are there: the directories behind the exports; those of spaces have their own."""
    if stand_ins := stand_ins_for(cluster, node):
        mounts.mounted(name="Stand-in disks", mounts=stand_ins)
    files.put(name="Exports", directories=exported_for(cluster, node))


def use(cluster: Cluster, node: Node) -> None:
    """On everybody else: mounts, links, and directories of the node's own. No server is waited for, but for Slurm's."""
    if wanted := mounts_for(cluster, node):
        mounts.mounted(name="Mounts", mounts=wanted)
    files.put(name="Own directories", directories=local_for(cluster, node))
    files.put(name="Links", links=links_for(cluster, node))


def look(cluster: Cluster, node: Node) -> None:
    """When all else is done: what is mounted can be used, or is named. The look makes mounts that wait for one."""
    if wanted := used_for(cluster, node):
        mounts.answering(name="Storage", mounts=wanted)
