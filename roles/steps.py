"""Steps of ended jobs that keep their node from starting jobs: a service on compute nodes ends them."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.steps import UNIT
from gpupool.operations import files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes that run jobs."""
    return node.has("compute")


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start the service beside slurmd. A restart delays the end of a step by a few seconds."""
    own = files_of(cluster, node, "steps")
    files.put(name="Steps that cannot end", files=own)
    service.running(name="Steps service", unit=UNIT.rpartition("/")[2], restart_if=[file.path for file in own])
