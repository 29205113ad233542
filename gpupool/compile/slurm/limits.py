"""slurmctld's limit on jobs, and the memory of a program that reads all of them."""

from gpupool.cluster.model import Cluster

# squeue's answer about 10,000 jobs took 240 MiB as text, and Python holds up to three copies of it.
_KIB_OF_A_JOB = 80
_LEAST_MIB = 512


def most_jobs(cluster: Cluster) -> int | None:
    """Return MaxJobCount, above which no user can submit; None for Slurm's default."""
    return None if cluster.scheduler.max_submitted_jobs is None else cluster.scheduler.most_jobs


def squeue_memory(cluster: Cluster) -> int:
    """Return the memory in MiB that a program may need to read `squeue --json`."""
    return max(_LEAST_MIB, cluster.scheduler.most_jobs * _KIB_OF_A_JOB // 1024)
