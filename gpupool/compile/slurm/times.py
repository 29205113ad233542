"""The time limit of jobs without --time, and where the submit plugin has to see to it."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Partition
from gpupool.cluster.schema.labs import Limits
from gpupool.compile.slurm.budgets import has_budgets
from gpupool.compile.slurm.names import minutes


def default_time(cluster: Cluster, partition: Partition) -> int | None:
    """Return a partition's DefaultTime in minutes; None where Slurm's own does, which is all of MaxTime."""
    if partition.default_time is not None:
        return minutes(partition.default_time)
    # with a budget a job without --time would have no price, and never start
    return minutes(partition.max_time) if partition.max_time and has_budgets(cluster) else None


def plugin_times(cluster: Cluster) -> dict[str, int]:
    """Return the partitions whose default time the submit plugin gives, in minutes.

    slurmctld takes the wall of a QoS or account, and all that minutes are left for, before a partition's DefaultTime.
    """
    if not has_budgets(cluster) and not any(map(_comes_before, _limits(cluster))) and not _walls(cluster):
        return {}
    partitions = cluster.partitions.items()
    return {name: minutes(it.default_time) for name, it in partitions if it.default_time is not None}


def _limits(cluster: Cluster) -> Iterator[Limits]:
    yield from (account.limits for account in cluster.accounts.values())
    yield from (qos.limits for qos in cluster.qos.values())
    yield from (partition.limits for partition in cluster.partitions.values())


def _comes_before(limits: Limits) -> bool:
    walls = (limits.per_job.wall, limits.group.wall)
    return any(wall is not None for wall in walls) or bool(limits.group_minutes.model_fields_set)


def _walls(cluster: Cluster) -> bool:
    return any(qos.max_wall is not None for qos in cluster.qos.values())
