"""sshd's drop-in: which variables a client may send, and agents."""

from functools import lru_cache

from gpupool.cluster.model import Cluster, Node
from gpupool.template import fill


def sshd_conf(cluster: Cluster, node: Node) -> str:
    """Return the drop-in of /etc/ssh/sshd_config.d."""
    accept = cluster.environment.accept_env
    names = accept.names if accept and node.name in cluster.select(accept.where) else ()
    return _text(cluster, names)


@lru_cache(maxsize=8)
def _text(cluster: Cluster, names: tuple[str, ...]) -> str:
    return fill("sshd.conf", cluster=cluster, accept_env=names)
