"""Time limits of jobs without --time, which Slurm takes from the first of several places that sets one."""

from collections.abc import Iterator

from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition
from gpupool.cluster.schema.scheduling import Scheduler


def default_time(partition: Partition, scheduler: Scheduler) -> int | None:
    """Return the time limit of a partition's jobs without --time, in seconds; None if it is max_time."""
    if partition.default_time is not None or scheduler.default_time is None:
        return partition.default_time
    # In a partition with a shorter max_time, that replaces the cluster's default.
    return min(scheduler.default_time, partition.max_time or scheduler.default_time)


def times_without_request(site: Site, account: str, *, gpus: bool) -> Iterator[tuple[int, str]]:
    """Yield (seconds, partition) of an account's jobs without --time; with `gpus`, only where nodes have GPUs."""
    for _, partition in site.partitions():
        time = default_time(partition, site.inventory.scheduler) or partition.max_time
        usable = not gpus or site.gpus_of(frozenset({partition.nodes}))
        if time and usable and site.admits(partition, account):
            yield time, partition.name


def walls_of_default_qos(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    """Yield (QoS, seconds) for each QoS with a wall that a partition's jobs without --qos may have."""
    defaults = site.default_qos_in(partition)
    return ((name, wall) for name, wall in _walls_of_qos(site, partition) if name in defaults)


def walls_of_other_qos(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    """Yield (QoS, seconds) for each QoS with a wall that jobs may request in a partition, default ones excluded."""
    defaults = site.default_qos_in(partition)
    return ((name, wall) for name, wall in _walls_of_qos(site, partition) if name not in defaults)


def _walls_of_qos(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    for name, qos in site.inventory.qos.items():
        if qos.wall is not None and partition.allows_qos(name):
            yield name, qos.wall


def walls_of_accounts(site: Site, partition: Partition) -> Iterator[tuple[str, int]]:
    """Yield (account, seconds) for each account with a wall that may submit to a partition."""
    for account in site.inventory.accounts:
        wall = account.limits.per_job.wall
        if wall is not None and site.admits(partition, account.name):
            yield account.name, wall
