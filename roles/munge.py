"""munge: the key with which the cluster's daemons authenticate each other."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.operations import files, munge, service
from gpupool.roles import follows_controller, is_first_controller, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On all nodes with a part of Slurm."""
    return node.runs_slurm


@where(is_first_controller)
def create_key(cluster: Cluster, node: Node) -> None:
    """Create the key on the first controller, unless it exists, and start munge."""
    munge.key(name="Munge key")
    _run(cluster, node)


@where(follows_controller)
def copy_key(cluster: Cluster, node: Node) -> None:
    """Copy the controller's key to all other nodes, and start munge."""
    munge.key(name="Munge key", source=cluster.controllers[0].name)
    _run(cluster, node)


def _run(cluster: Cluster, node: Node) -> None:
    own = files_of(cluster, node, "munge")
    files.put(name="Munge unit", files=own)
    service.running(
        name="Munge daemon", unit="munge", restart_if=["/etc/munge/munge.key", *(file.path for file in own)]
    )
