"""Check amounts by GPU type, of CPUs and of memory: the types exist, and no job without a type has a higher amount."""

import re
from collections.abc import Callable, Iterator, Mapping
from math import inf

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_size

_MEMORY: tuple[Path, ...] = (("scheduler", "default_memory", "per_gpu"), ("scheduler", "max_memory", "per_gpu"))


def ensure_amounts_are_of_gpu_types(site: Site) -> Iterator[Complaint]:
    """The GPU types in limits, warnings and defaults exist."""
    types = site.inventory.gpu_types
    for path, given in _by_type(site):
        for gpu in given:
            if gpu != "default" and gpu not in types:
                near = misspelt(gpu, ("default", *types))
                hint = f"did you mean {near[0]}?" if near else "name one of gpu_types, or `default` for all others"
                yield Complaint((*path, gpu), f"there is no GPU type {gpu!r}", hint)


def ensure_memory_is_set_for_all_gpu_types(site: Site) -> Iterator[Complaint]:
    """Default and maximum memory per GPU, if given by type, are given for every type that a node has."""
    scheduler = site.inventory.scheduler
    types = sorted({gpu for entry in site.inventory.nodes for gpu in entry.gpus})
    for path, memory in zip(_MEMORY, (scheduler.default_memory, scheduler.max_memory), strict=True):
        missing = [gpu for gpu in types if memory.of_gpu(gpu) is None]
        if memory.per_gpu and missing:
            message = f"has no size for {', '.join(missing)}: a job there could take all memory of its node"
            yield Complaint(path, message, "add it, or `default` for all other types")


def ensure_features_raise_no_limit(site: Site) -> Iterator[Complaint]:
    """No feature has a GPU type with a higher amount as a word: with it as a constraint, jobs would have that one."""
    scheduler = site.inventory.scheduler
    yield from _raised(site, scheduler.most_cpus, "CPUs")
    yield from _raised(site, scheduler.max_memory.of_gpu, "memory")


def _raised(site: Site, amount: Callable[[str], int | None], noun: str) -> Iterator[Complaint]:
    # the plugin ignores a type without a limit
    most = {gpu: each for gpu in site.inventory.gpu_types if (each := amount(gpu)) is not None}
    for index, entry in enumerate(site.inventory.nodes):
        own = min((most.get(gpu, inf) for gpu in entry.gpus), default=inf)
        for at, feature in enumerate(entry.features):
            # as amounts.features of the submit plugin divides --constraint
            words = re.split(r"[^A-Za-z0-9_-]", feature)
            if other := next((word for word in words if most.get(word, 0) > own and word not in entry.gpus), None):
                message = f"jobs with the constraint {feature} could have the {noun} per GPU of {other} on {entry.name}"
                yield Complaint(("nodes", index, "features", at), message, f"use a name without the word {other}")


def ensure_default_memory_is_allowed(site: Site) -> Iterator[Complaint]:
    """A job that requests no memory is not refused because of its default memory."""
    default, most = site.inventory.scheduler.default_memory, site.inventory.scheduler.max_memory
    kinds = {gpu: (default.of_gpu(gpu), most.of_gpu(gpu)) for gpu in site.inventory.gpu_types}
    over = {gpu: (each, limit) for gpu, (each, limit) in kinds.items() if each and limit is not None and each > limit}
    for each, limit in sorted(set(over.values())):
        types = [gpu for gpu, pair in over.items() if pair == (each, limit)]
        yield _not_allowed("per_gpu", each, limit, f" for {' and '.join(types)}" if len(types) < len(kinds) else "")
    if default.per_cpu and most.per_cpu is not None and default.per_cpu > most.per_cpu:
        yield _not_allowed("per_cpu", default.per_cpu, most.per_cpu, "")


def _not_allowed(key: str, each: int, limit: int, where: str) -> Complaint:
    message = f"is {format_size(each)}, but scheduler.max_memory.{key} allows {format_size(limit)}{where}"
    hint = "jobs that request no memory would be refused: lower it"
    return Complaint(("scheduler", "default_memory", key), message, hint)


def _by_type(site: Site) -> Iterator[tuple[Path, Mapping[str, int]]]:
    scheduler = site.inventory.scheduler
    yield ("scheduler", "max_cpus_per_gpu"), scheduler.max_cpus_per_gpu
    yield ("scheduler", "warn_cpus_per_gpu"), scheduler.warn_cpus_per_gpu
    for path, memory in zip(_MEMORY, (scheduler.default_memory, scheduler.max_memory), strict=True):
        yield path, memory.per_gpu or {}
    yield ("scheduler", "default_cpus_per_gpu"), scheduler.default_cpus_per_gpu or {}
    for index, partition in enumerate(site.inventory.partitions):
        yield ("partitions", index, "default_cpus_per_gpu"), partition.default_cpus_per_gpu or {}
