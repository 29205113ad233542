"""Names and paths in Slurm's files."""

from gpupool.cluster.model import Cluster

SLURMCTLD_PORT = 6817  # Slurm's own default, slurm.conf(5)
#: The ports of slurmctld, slurmd and slurmdbd.
SLURM_PORTS = (SLURMCTLD_PORT, 6818, 6819)
# Programs that slurmd runs; nothing below /etc/slurm is removed before slurmctld has accepted a slurm.conf without it.
PROGRAMS = "/etc/slurm/gpupool"
SPOOL = "/var/spool/slurmd"  # slurmd keeps the directories of running jobs here


def servers(cluster: Cluster) -> list[str]:
    """Return where the controllers are reached, the primary one first."""
    return [node.reached_at or node.name for node in cluster.controllers]
