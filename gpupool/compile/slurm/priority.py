"""Which waiting job goes first within a tier, and which of them reserve nodes.

A job that waits reserves its nodes, and Slurm starts nothing there that would be in its way. Where labs own GPUs a job
without any must not keep owners from idle GPUs so: the submit plugin puts it below all jobs with GPUs, and Slurm
reserves nothing for what stands there. Among jobs with GPUs nothing changes.
"""

from gpupool.cluster.model import Cluster


def weights(cluster: Cluster) -> dict[str, int]:
    """Return slurm.conf's PriorityWeight of each factor; every job has all of the partition's."""
    found = {"QOS": 10_000, "Age": 1_000, "Fairshare": 100_000 if cluster.scheduler.fairshare == "accounts" else 0}
    return {**found, "Partition": 3 * sum(found.values())} if _two_kinds(cluster) else found


def step_down(cluster: Cluster) -> int | None:
    """Return by how much a job without GPUs stands lower (its `nice`); None where it does not."""
    return 2 * weights(cluster)["Partition"] // 3 if _two_kinds(cluster) else None


def least_reserving(cluster: Cluster) -> int | None:
    """Return the least priority that reserves nodes: below every job with GPUs, above every one without."""
    return 5 * weights(cluster)["Partition"] // 6 if _two_kinds(cluster) else None


def _two_kinds(cluster: Cluster) -> bool:
    # only if the inventory gives GPU jobs and CPU-only jobs different default memory
    default = cluster.scheduler.default_memory
    labs = any(account.kind == "lab" for account in cluster.accounts.values())
    return labs and cluster.total_gpus > 0 and default.per_gpu is not None and default.per_cpu is not None
