"""The cluster's storage: exported directories on servers, mounts and links below /srv on clients."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
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
    """Create the exported directories on a server, after its disks are mounted; the role spaces creates spaces."""
    if stand_ins := stand_ins_for(cluster, node):
        mounts.mounted(name="Stand-in disks", mounts=stand_ins)
    files.put(name="Exports", directories=exported_for(cluster, node))


@where(everywhere)
def use(cluster: Cluster, node: Node) -> None:
    """Set mounts, links and local directories of a node. Only the server of Slurm's state must answer."""
    if wanted := mounts_for(cluster, node):
        mounts.mounted(name="Mounts", mounts=wanted)
    files.put(name="Own directories", directories=local_for(cluster, node))
    files.put(name="Links", links=links_for(cluster, node))


@where(everywhere)
def check_mounts(cluster: Cluster, node: Node) -> None:
    """Fail if mounts do not answer; late, to delay no other step. The check triggers automounts."""
    if wanted := used_for(cluster, node):
        mounts.answering(name="Storage", mounts=wanted)
