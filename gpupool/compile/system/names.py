"""Names and addresses: /etc/hosts, the same on every node, so that no name service is needed."""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.template import fill
from gpupool.wanted import File


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the node's host name, and the names of all nodes."""
    yield File("/etc/hostname", f"{node.name}\n")
    yield File("/etc/hosts", hosts(cluster))


def links(cluster: Cluster) -> dict[str, str]:
    """Return the link of the time zone, path to target."""
    return {"/etc/localtime": f"/usr/share/zoneinfo/{cluster.entry.timezone}"}


@lru_cache(maxsize=4)
def hosts(cluster: Cluster) -> str:
    """Return /etc/hosts."""
    return fill("hosts", cluster=cluster, nodes=[node for node in cluster.nodes.values() if node.all_addresses])
