"""Nodes that are out of service as a whole, with the reasons of their drains."""

from gpupool.cluster.model import Cluster
from gpupool.slurm.nodes import OUT_OF_SERVICE, reason


def drains(cluster: Cluster) -> dict[str, str]:
    """Return the reason of each node that is out of service as a whole, by its name in Slurm."""
    return {
        node.slurm_name: reason(OUT_OF_SERVICE, why)
        for node in cluster.having("compute")
        if (why := node.drained_for) is not None
    }


def in_service(cluster: Cluster) -> dict[str, str]:
    """Return the nodes that are not out of service as a whole, by their names in Slurm."""
    return {node.slurm_name: node.name for node in cluster.having("compute") if node.drained_for is None}
