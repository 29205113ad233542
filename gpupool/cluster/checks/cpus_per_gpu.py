"""Check CPUs per GPU: a job's default fits on the nodes, and its maximum is usable."""

from collections.abc import Iterator, Mapping

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Partition
from gpupool.cluster.schema.scheduling import of_type

_MOST: Path = ("scheduler", "max_cpus_per_gpu")


def ensure_default_cpus_fit(site: Site) -> Iterator[Complaint]:
    """Jobs that each request one GPU and no CPUs can use all GPUs of a node."""
    told: set[tuple[Path, str | None]] = set()
    for here, default, partition in _defaults(site):
        for name in sorted(site.nodes_of(partition.nodes)):
            entry = site.node_table.by_name[name].entry
            shape, gpus = site.inventory.hardware.get(entry.hardware or ""), sum(entry.gpus.values())
            together = sum(count * (of_type(default, gpu) or 1) for gpu, count in entry.gpus.items())
            if shape and together > shape.job_cpus and (here, entry.hardware) not in told:
                told.add((here, entry.hardware))
                sums = " + ".join(f"{count} x {of_type(default, gpu) or 1}" for gpu, count in entry.gpus.items())
                message = f"{sums} CPUs do not fit on {name}: it has {shape.job_cpus} for jobs"
                yield Complaint(here, message, f"at most {shape.job_cpus // gpus}: one job per GPU would not fit")


def ensure_default_cpus_are_allowed(site: Site) -> Iterator[Complaint]:
    """A job that requests no CPUs is not refused because of its default CPUs."""
    told: set[tuple[Path, str]] = set()
    for here, default, partition in _defaults(site):
        for gpu in sorted(_types(site, partition)):
            most, each = site.inventory.scheduler.most_cpus(gpu), of_type(default, gpu)
            if most is not None and each and each > most and (here, gpu) not in told:
                told.add((here, gpu))
                message = f"is {each}, but scheduler.max_cpus_per_gpu allows {most} for {gpu}"
                yield Complaint(here, message, "jobs with GPUs that request no CPUs would be refused: lower it")


def ensure_default_cpus_are_set_for_all_gpu_types(site: Site) -> Iterator[Complaint]:
    """Default CPUs per GPU, if given by type, are given for every type that a node of the partition has."""
    told: set[Path] = set()
    for here, default, partition in _defaults(site):
        missing = [gpu for gpu in sorted(_types(site, partition)) if of_type(default, gpu) is None]
        if missing and here not in told:
            told.add(here)
            yield Complaint(here, f"has no number for {', '.join(missing)}", "add it, or `default` for all other types")


def ensure_limits_of_cpus_have_an_effect(site: Site) -> Iterator[Complaint]:
    """Each warning is below its limit, and each limit is at least the number of CPUs that are kept for a GPU."""
    warned = site.inventory.scheduler.warn_cpus_per_gpu
    for gpu in site.inventory.gpu_types:
        most, warn = site.inventory.scheduler.most_cpus(gpu), warned.get(gpu, warned.get("default"))
        if most is not None and warn is not None and warn >= most:
            path: Path = ("scheduler", "warn_cpus_per_gpu", gpu if gpu in warned else "default")
            message = f"{warn} has no effect for {gpu}: jobs with more than {most} are refused"
            yield Complaint(path, message, "lower it, or remove it", "warning")
    for entry, shape, _ in site.machines:
        for gpu in entry.gpus:
            most = site.inventory.scheduler.most_cpus(gpu)
            if most is not None and most < shape.cpus_kept_per_gpu:
                message = f"{gpu} may have {most} CPUs, but {shape.cpus_kept_per_gpu} are kept for each on {entry.name}"
                hint = "no job could have the others: raise it, or lower cpus_kept_per_gpu"
                yield Complaint((*_MOST, gpu) if gpu in site.inventory.scheduler.max_cpus_per_gpu else _MOST,
                                message, hint, "warning")  # fmt: skip


def _defaults(site: Site) -> Iterator[tuple[Path, Mapping[str, int], Partition]]:
    of_all = site.inventory.scheduler.default_cpus_per_gpu
    for path, partition in site.partitions():
        if own := partition.default_cpus_per_gpu:
            yield (*path, "default_cpus_per_gpu"), own, partition
        elif of_all:
            yield ("scheduler", "default_cpus_per_gpu"), of_all, partition


def _types(site: Site, partition: Partition) -> set[str]:
    by_name = site.node_table.by_name
    return {gpu for name in site.nodes_of(partition.nodes) for gpu, count in by_name[name].entry.gpus.items() if count}
