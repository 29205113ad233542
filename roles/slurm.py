"""Slurm's configuration, on the nodes that hold it as files; the others ask the controller for it."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files


def apply(cluster: Cluster, node: Node) -> None:
    """Before any daemon is told to read it: all controllers have the same files when the first one reads them."""
    files.put(name="Slurm configuration", files=files_of(cluster, node, "slurm"))
