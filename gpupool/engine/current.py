"""The only module that asks pyinfra for the node that a deploy runs for."""

from pyinfra import host
from pyinfra.api.exceptions import InventoryError

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node


def cluster_and_node() -> tuple[Cluster, Node]:
    """Return the Cluster and the node of the current host, from its inventory data.

    pyinfra's InventoryError, which it prints without a traceback, for a host that is in no inventory of gpupool.
    """
    cluster, node = host.data.get("cluster"), host.data.get("node")
    if cluster is None or node is None:
        raise InventoryError(
            f"{host.name} is not a node of an inventory, from which this deploy computes the contents of a node: use a "
            "file such as my-site/inventory.py in its place. Single facts and operations of gpupool run on any host"
        )
    return cluster, node
