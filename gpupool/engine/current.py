"""The only module that asks pyinfra for the node that a deploy runs for."""

from pyinfra import host

from gpupool.cluster.model import Cluster, Node


def cluster_and_node() -> tuple[Cluster, Node]:
    """Return the Cluster and the node of the current host, from its inventory data."""
    return host.data.cluster, host.data.node
