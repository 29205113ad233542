"""A compute node's check of its GPUs, mounts, disks and clock."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.operations import files
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes that run jobs."""
    return node.has("compute")


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the program before slurm.conf names it. slurmd starts it for each check, so no restart is needed."""
    if own := files_of(cluster, node, "health"):
        files.put(name="Health check", files=own)
