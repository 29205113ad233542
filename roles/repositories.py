"""Package repositories that a node needs, before any package is installed."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.operations import files, sources
from gpupool.roles import apart, everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the sources and their keys."""
    if own := files_of(cluster, node, "repositories"):
        files.put(name="Package sources", files=own)


@apart
@where(everywhere)
def refresh(cluster: Cluster, node: Node) -> None:
    """Let apt read sources that have changed; apart, because a vendor's server may be down for days."""
    if own := files_of(cluster, node, "repositories"):
        sources.refreshed(name="Package lists", paths=[file.path for file in own])
