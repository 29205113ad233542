"""No reboot under running jobs: `reboot` and the like look for jobs first, and unattended-upgrades leaves it alone."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.reboot import guards
from gpupool.operations import files
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """Where jobs run."""
    return guards(cluster, node)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Files that are read when they are needed."""
    files.put(name="Reboot guard", files=files_of(cluster, node, "reboot"))
