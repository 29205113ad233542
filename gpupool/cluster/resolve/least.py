"""The least that jobs must request in a partition, and the most that its QoS let them have."""

from collections.abc import Iterator

from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Amounts, Limits, Partition

RESOURCES = ("gpu", "cpu", "nodes")
MOST = ("group", "per_user", "per_job")  # kinds of limits that bound what one job can have


def with_least(partition: Partition) -> Limits:
    """Return a partition's limits; one with `without_gpu` requires a GPU of its jobs, however they come here."""
    limits = partition.limits
    if not partition.without_gpu or limits.per_job_least.gpu:
        return limits
    return limits.model_copy(update={"per_job_least": limits.per_job_least.model_copy(update={"gpu": 1})})


def amounts_of(amounts: Amounts) -> Iterator[tuple[str, int]]:
    """Yield the amounts that are set and above zero, of resources that Slurm has a least of."""
    for key in RESOURCES:
        if value := getattr(amounts, key):
            yield key, value


def usable_qos(site: Site, partition: Partition) -> list[str]:
    """Return the QoS that a partition's jobs may have."""
    return [name for name in site.inventory.qos if partition.allows_qos(name)]


def most_by_qos(site: Site, partition: Partition, key: str) -> Iterator[tuple[str, int]]:
    """Yield (QoS, amount) of each usable QoS that bounds how much of a resource one job can have in a partition."""
    for name in usable_qos(site, partition):
        limits = site.inventory.qos[name].limits
        kinds = ("group", "per_job") if partition.lifts_per_user else MOST
        mosts = [most for kind in kinds if (most := getattr(getattr(limits, kind), key)) is not None]
        if mosts:
            yield name, min(mosts)
