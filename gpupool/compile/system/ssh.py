"""sshd's drop-in: which variables a client may send, and agents; and by which names nodes are known."""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.template import fill
from gpupool.wanted import File


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the drop-in of /etc/ssh/sshd_config.d."""
    accept = cluster.environment.accept_env
    names = accept.names if accept and node.name in cluster.select(accept.where) else ()
    yield File("/etc/ssh/sshd_config.d/gpupool.conf", _text(cluster, names))


@lru_cache(maxsize=4)
def names_of_nodes(cluster: Cluster) -> dict[str, str]:
    """Return all names of each node in one word, as a line of known hosts begins: name,name.domain,address."""
    return {
        node.name: ",".join(dict.fromkeys((node.name, node.fqdn, node.address)))
        for node in cluster.nodes.values()
        if node.address
    }


@lru_cache(maxsize=8)
def _text(cluster: Cluster, names: tuple[str, ...]) -> str:
    return fill("sshd.conf", cluster=cluster, accept_env=names)
