"""CPUs that go with GPUs: what jobs get that request none, and the most that they may request."""

from gpupool.cluster.model import Cluster


def by_default(cluster: Cluster) -> dict[str, int]:
    """Return the CPUs of each GPU of jobs that request none, by partition; none of those where it is one a task."""
    own = {name: it.entry.default_cpus_per_gpu for name, it in cluster.partitions.items()}
    given = ((name, each or cluster.scheduler.default_cpus_per_gpu) for name, each in own.items())
    return {name: each for name, each in given if each}


def most(cluster: Cluster) -> dict[str, int]:
    """Return the most CPUs of each GPU by type; under "" that of a GPU of no type, which may be of any."""
    limits = {gpu: limit for gpu in cluster.gpu_types if (limit := cluster.scheduler.most_cpus(gpu)) is not None}
    return {**limits, "": min(limits.values())} if limits else {}
