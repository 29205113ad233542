"""Which waiting job goes first within a tier, and which of them reserve nodes.

A job that waits reserves its nodes, and Slurm starts nothing there that would be in its way. Where labs own GPUs a job
without any must not keep owners from idle GPUs so: the submit plugin puts it below all jobs with GPUs, and Slurm
reserves nothing for what stands there. Among jobs with GPUs nothing changes.
"""

from gpupool.cluster.model import Cluster

_MOST_FACTOR = 65_535  # of PriorityJobFactor, slurm.conf(5)
_LEAST_SPAN = 100  # where nothing has a weight, jobs with GPUs and those without still stand apart


def weights(cluster: Cluster) -> dict[str, int]:
    """Return slurm.conf's PriorityWeight of each factor."""
    weight = cluster.scheduler.priority_weights
    factors = {
        "QOS": weight.qos,
        "Age": weight.age,
        "Fairshare": weight.fairshare if cluster.scheduler.fairshare == "accounts" else 0,
        **({"JobSize": weight.job_size} if weight.job_size else {}),
    }
    everys, of_partitions = _everys(cluster), _of_partitions(cluster)
    return {**factors, "Partition": everys + of_partitions} if everys + of_partitions else factors


def partition_factors(cluster: Cluster) -> dict[str, int]:
    """Return each partition's PriorityJobFactor; none where no partition has a priority.

    Slurm divides it by the highest. What every job has by its partition is in it, too.
    """
    everys, most = _everys(cluster), _of_partitions(cluster)
    highest = max((it.entry.priority for it in cluster.partitions.values()), default=0)
    if not most:
        return {}
    shares = {name: everys + most * it.entry.priority / highest for name, it in cluster.partitions.items()}
    return {name: round(_MOST_FACTOR * share / (everys + most)) for name, share in shares.items()}


def step_down(cluster: Cluster) -> int | None:
    """Return by how much a job without GPUs stands lower (its `nice`); None where it does not."""
    return 2 * _everys(cluster) // 3 if _two_kinds(cluster) else None


def least_reserving(cluster: Cluster) -> int | None:
    """Return the least priority that reserves nodes: below every job with GPUs, above every one without."""
    return 5 * _everys(cluster) // 6 if _two_kinds(cluster) else None


def _everys(cluster: Cluster) -> int:
    """Return the priority that every job has, three times all that jobs differ by; 0 where nothing stands apart."""
    weight = cluster.scheduler.priority_weights
    fair = weight.fairshare if cluster.scheduler.fairshare == "accounts" else 0
    span = weight.qos + weight.age + weight.job_size + fair + _of_partitions(cluster)
    return 3 * max(span, _LEAST_SPAN) if _two_kinds(cluster) else 0


def _of_partitions(cluster: Cluster) -> int:
    """Return by how much the partition with the highest priority stands above one without."""
    has = any(it.entry.priority for it in cluster.partitions.values())
    return cluster.scheduler.priority_weights.partition if has else 0


def _two_kinds(cluster: Cluster) -> bool:
    # only if the inventory gives GPU jobs and CPU-only jobs different default memory
    default = cluster.scheduler.default_memory
    labs = any(account.entry.kind == "lab" for account in cluster.accounts.values())
    return labs and cluster.total_gpus > 0 and default.per_gpu is not None and default.per_cpu is not None
