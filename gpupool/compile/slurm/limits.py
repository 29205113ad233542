"""How many jobs slurmctld takes in all."""

from gpupool.cluster.model import Cluster

#: slurmctld's own MaxJobCount, slurm.conf(5).
MOST_JOBS = 10_000


def most_jobs(cluster: Cluster) -> int | None:
    """Return slurmctld's limit on jobs, 10,000 by default: at it, no user can submit. Ten users stay below."""
    each = cluster.scheduler.max_submitted_jobs
    return None if each is None else max(MOST_JOBS, 20 * each)
