"""Package repositories that a node needs, before any package is installed."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files, sources
from gpupool.roles import everywhere

applies = everywhere


def apply(cluster: Cluster, node: Node) -> None:
    """Install the sources; run `apt-get update` only if they or their keys have changed."""
    own = files_of(cluster, node, "repositories")
    if own:
        files.put(name="Package sources", files=own)
        sources.refreshed(name="Package lists", paths=[file.path for file in own])
