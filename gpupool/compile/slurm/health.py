"""How often slurmd has each compute node check itself, and with which program."""

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.names import PROGRAMS

PROGRAM = f"{PROGRAMS}/health"


def wanted(cluster: Cluster) -> bool:
    """Return whether nodes check themselves."""
    return cluster.slurm.health is not None and cluster.slurm.health.enabled


def parameters(cluster: Cluster) -> dict[str, str]:
    """Return the keys of slurm.conf. In any state: a drained node must notice that its problem is gone."""
    if cluster.slurm.health is None or not wanted(cluster):
        return {}
    interval = str(cluster.slurm.health.interval)
    return {"HealthCheckProgram": PROGRAM, "HealthCheckInterval": interval, "HealthCheckNodeState": "ANY"}
