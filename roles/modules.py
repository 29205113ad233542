"""Environment modules by Lmod: the module files of the inventory, in login shells and in batch jobs."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.modules import modules_for
from gpupool.operations import files
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """Where the inventory has modules."""
    return modules_for(cluster, node) is not None


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Lmod comes with the packages; shells that are open see a changed module file at their next `module load`."""
    files.put(name="Modules", files=files_of(cluster, node, "modules"))
