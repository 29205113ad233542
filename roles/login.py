"""Variables that every login shell gets."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files
from gpupool.roles import everywhere

applies = everywhere


def apply(cluster: Cluster, node: Node) -> None:
    """Shells that are open keep what they have."""
    files.put(name="Variables of logins", files=files_of(cluster, node, "login"))
