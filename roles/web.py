"""A web server with pages for users of the cluster."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.web import CONF, serves
from gpupool.operations import files, service
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On web servers of a cluster that has pages."""
    return serves(cluster, node)


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install pages and settings. nginx reads pages for each request; only changed settings need a reload."""
    files.put(name="Pages", files=files_of(cluster, node, "web"))
    service.running(name="Web server", unit="nginx", reload_if=[CONF])
