"""The distribution of the nodes."""

from gpupool.cluster.model import Cluster
from gpupool.distributions.tables import Distribution


def of(cluster: Cluster) -> Distribution:
    """Return the distribution of all nodes of a cluster."""
    return cluster.software.system
