"""Small programs of ours for the people of a cluster, such as `sbash`."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.tools import PLACES
from gpupool.operations import files


def apply(cluster: Cluster, node: Node) -> None:
    """Those that the inventory has here; one that it has no more is taken away, if it is ours."""
    own = files_of(cluster, node, "tools")
    gone = set(PLACES.values()) - {file.path for file in own}
    files.put(name="Tools", files=own, absent=dict.fromkeys(sorted(gone), "# Written by gpupool "))
