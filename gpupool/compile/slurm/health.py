"""The interval and the program of slurmd's health check on compute nodes."""

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.names import PROGRAMS

PROGRAM = f"{PROGRAMS}/health"


def wanted(cluster: Cluster) -> bool:
    """Return whether the health check is enabled."""
    return cluster.slurm.health is not None and cluster.slurm.health.enabled


def parameters(cluster: Cluster) -> dict[str, str]:
    """Return the keys of slurm.conf. Nodes in any state are checked: a drained one must notice that it is healthy."""
    if cluster.slurm.health is None or not wanted(cluster):
        return {}
    interval = str(cluster.slurm.health.interval)
    return {"HealthCheckProgram": PROGRAM, "HealthCheckInterval": interval, "HealthCheckNodeState": "ANY"}
