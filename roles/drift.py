"""The drift that a controller itself sees, as metrics."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.drift import TIMER
from gpupool.operations import files, service
from gpupool.roles import is_controller, where

applies = is_controller


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """On every controller: a backup sees its own files, and asks whichever slurmctld answers."""
    files.put(name="Drift", files=files_of(cluster, node, "drift"))
    service.timer(name="Drift timer", path=TIMER)
