"""Budgets: the command `budget`, and a timer that writes the usage for the submit plugin every minute."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.budgets import tells_budgets
from gpupool.compile.system.budgets import TIMER
from gpupool.operations import files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes where users or the submit plugin read budgets."""
    return tells_budgets(cluster, node)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the program; start the timer on every controller, so that a backup has the file when it takes over."""
    own = files_of(cluster, node, "budgets")
    files.put(name="Budgets", files=own)
    if node.has("controller", "backup-controller"):
        service.timer(name="Budgets timer", path=TIMER)
