"""Environment modules with Lmod: the module files of the inventory, for login shells and batch jobs."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.modules import modules_for
from gpupool.operations import files
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has modules."""
    return modules_for(cluster, node) is not None


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the module files; open shells read a changed one at the next `module load`. Lmod is a package."""
    files.put(name="Modules", files=files_of(cluster, node, "modules"))
