"""Small programs of ours for the people of a cluster, such as `sbash`."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files


def apply(cluster: Cluster, node: Node) -> None:
    """Those that the inventory has here."""
    files.put(name="Tools", files=files_of(cluster, node, "tools"))
