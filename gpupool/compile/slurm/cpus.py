"""CPUs per GPU: the default of jobs that request none, and the maximum."""

from gpupool.cluster.model import Cluster


def by_default(cluster: Cluster) -> dict[str, int]:
    """Return the default CPUs per GPU by partition, without partitions that have Slurm's default, one per task."""
    own = {name: partition.entry.default_cpus_per_gpu for name, partition in cluster.partitions.items()}
    given = ((name, each or cluster.scheduler.default_cpus_per_gpu) for name, each in own.items())
    return {name: each for name, each in given if each}


def most(cluster: Cluster) -> dict[str, int]:
    """Return the maximum CPUs per GPU by type; the key `""` has the lowest, for requests without a type."""
    limits = {gpu: limit for gpu in cluster.gpu_types if (limit := cluster.scheduler.most_cpus(gpu)) is not None}
    return {**limits, "": min(limits.values())} if limits else {}
