"""Metrics of the drift that a controller sees without the inventory."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.drift import TIMER
from gpupool.operations import files, service
from gpupool.roles import is_controller, where

applies = is_controller


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the program and its timer on every controller: each compares its files, and asks the active slurmctld."""
    files.put(name="Drift", files=files_of(cluster, node, "drift"))
    service.timer(name="Drift timer", path=TIMER)
