"""Minimum requests of jobs in a partition, and the maximum that its QoS allow."""

from collections.abc import Iterator

from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Amounts, Limits, Partition
from gpupool.cluster.units import format_size

RESOURCES = ("gpu", "cpu", "mem", "nodes")
MOST = ("group", "per_user", "per_job")  # kinds of limits that bound what one job can have


def effective_limits(partition: Partition) -> Limits:
    """Return a partition's limits; with `without_gpu`, each of its jobs must request a GPU."""
    limits = partition.limits
    if not partition.without_gpu or limits.per_job_least.gpu:
        return limits
    return limits.model_copy(update={"per_job_least": limits.per_job_least.model_copy(update={"gpu": 1})})


def amounts_of(amounts: Amounts) -> Iterator[tuple[str, int]]:
    """Yield the amounts that are set and above zero, of resources with a minimum in Slurm."""
    for key in RESOURCES:
        if value := getattr(amounts, key):
            yield key, value


def in_units(key: str, value: int) -> str:
    """Return an amount of a resource as an inventory has it: memory with its unit."""
    return format_size(value) if key == "mem" else f"{value}"


def usable_qos(site: Site, partition: Partition) -> list[str]:
    """Return the QoS that a partition's jobs may have."""
    return [name for name in site.inventory.qos if partition.allows_qos(name)]


def most_by_qos(site: Site, partition: Partition, key: str) -> Iterator[tuple[str, int]]:
    """Yield (QoS, amount) for each usable QoS that limits how much of a resource a job can have in a partition."""
    for name in usable_qos(site, partition):
        limits = site.inventory.qos[name].limits
        kinds = ("group", "per_job") if partition.lifts_per_user else MOST
        mosts = [most for kind in kinds if (most := getattr(getattr(limits, kind), key)) is not None]
        if mosts:
            yield name, min(mosts)
