"""How many jobs slurmctld takes in all, and what a program needs that reads of them."""

from gpupool.cluster.model import Cluster

#: slurmctld's own MaxJobCount, slurm.conf(5).
MOST_JOBS = 10_000

# squeue's answer of 10,000 jobs took 240 MiB as text, of which Python holds up to three copies
_KIB_OF_A_JOB = 80
_LEAST_MIB = 512


def most_jobs(cluster: Cluster) -> int | None:
    """Return slurmctld's limit on jobs, 10,000 by default: at it, no user can submit. Ten users stay below."""
    each = cluster.scheduler.max_submitted_jobs
    return None if each is None else max(MOST_JOBS, 20 * each)


def squeue_memory(cluster: Cluster) -> int:
    """Return what a program that reads `squeue --json` may need, in MiB."""
    return max(_LEAST_MIB, (most_jobs(cluster) or MOST_JOBS) * _KIB_OF_A_JOB // 1024)
