"""No reboot under running jobs: `reboot` and the like look for jobs first, and unattended-upgrades leaves it alone."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.operations import files


def apply(cluster: Cluster, node: Node) -> None:
    """Files that are read when they are needed."""
    files.put(name="Reboot guard", files=files_of(cluster, node, "reboot"))
