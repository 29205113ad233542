"""The one place that asks pyinfra which node a deploy is being run for."""

from pyinfra import host

from gpupool.cluster.model import Cluster, Node


def here() -> tuple[Cluster, Node]:
    """Return the Cluster and the node of the current host, as its inventory data holds them."""
    return host.data.cluster, host.data.node
