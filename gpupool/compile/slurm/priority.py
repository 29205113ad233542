"""The order of pending jobs within a tier, and which of them reserve nodes.

Slurm reserves nodes for a pending job, and starts nothing there that would delay it. Where labs own GPUs, a job without
GPUs must not keep owners from idle GPUs in this way: the submit plugin puts it below all jobs with GPUs, and Slurm
reserves nothing for jobs below them. The order of jobs with GPUs does not change.
"""

from gpupool.cluster.model import Cluster

_MOST_FACTOR = 65_535  # of PriorityJobFactor, slurm.conf(5)
_LEAST_SPAN = 100  # without any weight, jobs with GPUs must still differ from those without


def weights(cluster: Cluster) -> dict[str, int]:
    """Return the PriorityWeight of each factor in slurm.conf, without factors that have none: 0 is Slurm's default."""
    weight = cluster.scheduler.priority_weights
    factors = {
        "QOS": weight.qos,
        "Age": weight.age,
        "Fairshare": weight.fairshare if cluster.scheduler.fairshare == "accounts" else 0,
        "JobSize": weight.job_size,
        "Partition": _everys(cluster) + _of_partitions(cluster),
    }
    return {name: number for name, number in factors.items() if number}


def partition_factors(cluster: Cluster) -> dict[str, int]:
    """Return each partition's PriorityJobFactor; empty if no partition has a priority.

    Slurm divides each factor by the highest. The factors include the priority that every job has.
    """
    everys, most = _everys(cluster), _of_partitions(cluster)
    highest = max((partition.entry.priority for partition in cluster.partitions.values()), default=0)
    if not most:
        return {}
    shares = {
        name: everys + most * partition.entry.priority / highest for name, partition in cluster.partitions.items()
    }
    return {name: round(_MOST_FACTOR * share / (everys + most)) for name, share in shares.items()}


def step_down(cluster: Cluster) -> int | None:
    """Return by how much the priority of a job without GPUs is lowered (its `nice`); None if it is not."""
    return 2 * _everys(cluster) // 3 if _two_kinds(cluster) else None


def least_reserving(cluster: Cluster) -> int | None:
    """Return the minimum priority that reserves nodes: below every job with GPUs, above every job without."""
    return 5 * _everys(cluster) // 6 if _two_kinds(cluster) else None


def _everys(cluster: Cluster) -> int:
    """Return the priority that every job has: three times the maximum difference of jobs; 0 if not needed."""
    weight = cluster.scheduler.priority_weights
    fair = weight.fairshare if cluster.scheduler.fairshare == "accounts" else 0
    span = weight.qos + weight.age + weight.job_size + fair + _of_partitions(cluster)
    return 3 * max(span, _LEAST_SPAN) if _two_kinds(cluster) else 0


def _of_partitions(cluster: Cluster) -> int:
    """Return the maximum priority that a partition adds."""
    has = any(partition.entry.priority for partition in cluster.partitions.values())
    return cluster.scheduler.priority_weights.partition if has else 0


def _two_kinds(cluster: Cluster) -> bool:
    # Only if the inventory sets different default memory for jobs with GPUs and without.
    default = cluster.scheduler.default_memory
    labs = any(account.entry.kind == "lab" for account in cluster.accounts.values())
    return labs and cluster.total_gpus > 0 and default.per_gpu is not None and default.per_cpu is not None
