"""Variables of login shells."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.operations import files
from gpupool.roles import everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the variables. Open shells are not changed."""
    files.put(name="Variables of logins", files=files_of(cluster, node, "login"))
