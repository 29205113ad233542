"""The service that keeps the time of the nodes. Each conflicts with the others, and a site may have chosen its own."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node


def clock(cluster: Cluster, node: Node) -> str:
    """Return the name of the package that keeps the time of a node."""
    own = {unit: package for package, unit in node.system.clocks.items()}
    return cluster.software.clock or own[node.system.units["time"]]


def unit(cluster: Cluster, node: Node) -> str:
    """Return the systemd unit that keeps the time of a node, without `.service`."""
    return node.system.clocks[clock(cluster, node)]


def others(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the packages that cannot be beside the node's clock, each with the key of the inventory that keeps it."""
    own = clock(cluster, node)
    return {name: f"software.clock: {name}" for name in node.system.clocks if name != own}
