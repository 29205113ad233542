"""Names as Slurm's files write them."""

from gpupool.cluster.model import Cluster

SLURMCTLD_PORT = 6817  # Slurm's own default, slurm.conf(5)
# what slurmd runs; below /etc/slurm nothing is removed before slurmctld has accepted a slurm.conf without it
PROGRAMS = "/etc/slurm/gpupool"
SPOOL = "/var/spool/slurmd"  # where slurmd keeps the folders of running jobs


def servers(cluster: Cluster) -> list[str]:
    """Return where the controllers are, the primary first."""
    return [node.address or node.name for node in cluster.controllers]
