"""Names and addresses: /etc/hosts, the same on every node, so that no name service is a prerequisite."""

from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.template import fill


@lru_cache(maxsize=4)
def hosts(cluster: Cluster) -> str:
    """Return /etc/hosts."""
    return fill("hosts", cluster=cluster, nodes=[node for node in cluster.nodes.values() if node.address])
