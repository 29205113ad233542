"""Repositories of packages that something on the node uses, before any package is installed."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files, sources
from gpupool.roles import everywhere

applies = everywhere


def apply(cluster: Cluster, node: Node) -> None:
    """apt reads them once, when they or their keys have changed."""
    own = files_of(cluster, node, "repositories")
    if own:
        files.put(name="Package sources", files=own)
        sources.refreshed(name="Package lists", paths=[file.path for file in own])
