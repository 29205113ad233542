"""The arbiter: a service beside slurmctld that ends jobs after their grace time, and preempts within a lab's cap."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.arbiter import UNIT
from gpupool.operations import files, service
from gpupool.roles import is_controller, where

applies = is_controller


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start the arbiter on every controller; it acts only beside the active slurmctld. A restart loses no state."""
    own = files_of(cluster, node, "arbiter")
    if own:
        files.put(name="Arbiter", files=own)
        service.running(name="Arbiter service", unit=UNIT.rpartition("/")[2], restart_if=[file.path for file in own])
