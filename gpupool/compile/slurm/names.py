"""Names and paths in Slurm's files."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node

SLURMCTLD_PORT = 6817  # Slurm's own default, slurm.conf(5)
#: The ports of slurmctld, slurmd and slurmdbd.
SLURM_PORTS = (SLURMCTLD_PORT, 6818, 6819)
# Programs that slurmd runs; nothing below /etc/slurm is removed before slurmctld has accepted a slurm.conf without it.
PROGRAMS = "/etc/slurm/gpupool"


def spool(cluster: Cluster, node: Node) -> str:
    """Return the directory in which slurmd finds the jobs of a node; slurm.conf(5) explains %n and %h."""
    return cluster.slurm.spool.replace("%n", node.slurm_name).replace("%h", node.name)


def servers(cluster: Cluster) -> list[str]:
    """Return where the controllers are reached, the primary one first."""
    return [node.reached_at or node.name for node in cluster.controllers]
