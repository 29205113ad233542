"""The GPU driver of a node: which one, and from where."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from gpupool.cluster.drivers import Driver, drivers
from gpupool.cluster.model import Cluster, Node


def driver_of(cluster: Cluster, node: Node) -> Driver | None:
    """Return the driver that a node shall have; None without GPUs, where they are stand-ins, or where none is said."""
    return _by_node(cluster).get(node.name) if node.gpus and cluster.drivers.gpu == "nvidia" else None


def repositories(cluster: Cluster, node: Node) -> Iterator[str]:
    """Yield the repository that the driver comes from, if not from the distribution."""
    driver = driver_of(cluster, node)
    if driver and driver.repository:
        yield driver.repository


@lru_cache(maxsize=4)
def _by_node(cluster: Cluster) -> Mapping[str, Driver]:
    return {name: driver for driver in drivers(cluster.software, cluster.select) for name in driver.nodes}
