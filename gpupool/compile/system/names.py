"""Names and addresses: /etc/hosts, the same on every node, so that no name service is a prerequisite."""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.template import fill
from gpupool.wanted import File


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the node's own name, and everybody's."""
    yield File("/etc/hostname", f"{node.name}\n")
    yield File("/etc/hosts", hosts(cluster))


@lru_cache(maxsize=4)
def hosts(cluster: Cluster) -> str:
    """Return /etc/hosts."""
    return fill("hosts", cluster=cluster, nodes=[node for node in cluster.nodes.values() if node.address])
