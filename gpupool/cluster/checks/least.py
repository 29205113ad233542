"""What jobs must request at least: that they can, and that no path leads around it."""

from collections.abc import Iterator

from gpupool.cluster.checks.site import Site
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.schema.labs import Amounts, Limits, Partition

_RESOURCES = ("gpu", "cpu", "nodes")
_MOST = ("group", "per_user", "per_job")


def ensure_slurm_has_the_least(site: Site) -> Iterator[Complaint]:
    """A least is on what a job says at its submission, and on a QoS or a partition."""
    for index, account in enumerate(site.inventory.accounts):
        if account.limits.per_job_least.model_fields_set:
            path: Path = ("accounts", index, "limits", "per_job_least")
            yield Complaint(path, "an account has no least in Slurm", "set it on a QoS or a partition")
    for path, limits, _ in _blocks(site):
        for key, value in limits.per_job_least:
            if key not in (*_RESOURCES, "gpus") and value is not None:
                hint = f"use {', '.join(_RESOURCES)} or gpus"
                yield Complaint((*path, "per_job_least", key), f"a job has no least {key} in Slurm", hint)


def ensure_the_least_can_be_had(site: Site) -> Iterator[Complaint]:
    """A job with the least of a partition or QoS is not above another limit, nor above what there is."""
    for path, limits, nodes in _blocks(site):
        least, pool = limits.per_job_least, site.pool(nodes)
        here = (*path, "per_job_least")
        for key, value in _amounts(least):
            if pool and value > pool[key]:
                yield Complaint((*here, key), f"is {value}, but there are {pool[key]}: no job could ever run")
            for kind in _MOST:
                most = getattr(getattr(limits, kind), key)
                if most is not None and value > most:
                    yield Complaint((*here, key), f"is {value}, above {kind}.{key}, which is {most}: no job could run")
    for path, partition in site.partitions():
        for key, value in _amounts(_least(partition)):
            if mosts := list(_mosts(site, partition, key)):
                name, most = max(mosts, key=lambda named: named[1])
                if len(mosts) == sum(1 for _ in _usable(site, partition)) and value > most:
                    message = f"is {value}, but no QoS that may be used here allows more than {most} ({name})"
                    yield Complaint((*path, "limits", "per_job_least", key), message, "lower it: no job could run")


def ensure_the_least_is_not_hidden(site: Site) -> Iterator[Complaint]:
    """A partition's least replaces the job's QoS's: a lower one would lift it unsaid."""
    for path, partition in site.partitions():
        here = dict(_amounts(_least(partition)))
        for name in _usable(site, partition):
            for key, amount in _amounts(site.inventory.qos[name].limits.per_job_least):
                if key in here and here[key] < amount:
                    message = f"{here[key]} replaces the {amount} of QoS {name}, so its jobs here could request less"
                    yield Complaint((*path, "limits", "per_job_least", key), message, f"set {amount}, or remove it")


def ensure_jobs_without_gpus_have_a_place(site: Site) -> Iterator[Complaint]:
    """without_gpu names a partition that takes such jobs, and where they are as safe as they would be here."""
    entries = {name: (it, account) for _, it in site.partitions() for name, account in site.partition_names(it)}
    for path, partition in site.partitions():
        word, here = partition.without_gpu, (*path, "without_gpu")
        if word is None:
            continue
        if not site.pool(frozenset({partition.nodes})).get("gpu", 1):
            yield Complaint(here, f"no node of {partition.name} has a GPU, so no job could run there", "remove it")
        for name, account in site.partition_names(partition) if word != "refuse" else ():
            target = entries.get(word.replace("{account}", account or ""), (None, None))[0]
            if target is None:
                yield Complaint(here, f"there is no partition {word!r}", "name a partition, or set it to refuse")
            elif target.without_gpu:
                message = "this is the partition itself" if target is partition else f"{word} has a without_gpu, too"
                yield Complaint(here, message, "name a partition that takes jobs without GPUs, or set it to refuse")
            elif site.is_preempted(target) and not site.is_preempted(partition):
                message = f"{word} is preemptable, and {name} is not"
                yield Complaint(here, message, "name one that is not: users must ask for a preemptable partition")
            else:
                continue
            break


def _blocks(site: Site) -> Iterator[tuple[Path, Limits, frozenset[str]]]:
    for name, qos in site.inventory.qos.items():
        yield ("qos", name, "limits"), qos.limits, frozenset({"@compute"})
    for path, partition in site.partitions():
        yield (*path, "limits"), partition.limits, frozenset({partition.nodes})


def _least(partition: Partition) -> Amounts:
    least = partition.limits.per_job_least
    return least if not partition.without_gpu or least.gpu else least.model_copy(update={"gpu": 1})


def _amounts(amounts: Amounts) -> Iterator[tuple[str, int]]:
    for key in _RESOURCES:
        if value := getattr(amounts, key):
            yield key, value


def _usable(site: Site, partition: Partition) -> Iterator[str]:
    return (name for name in site.inventory.qos if not partition.qos or name in partition.qos)


def _mosts(site: Site, partition: Partition, key: str) -> Iterator[tuple[str, int]]:
    for name in _usable(site, partition):
        limits = site.inventory.qos[name].limits
        kinds = ("group", "per_job") if "per_user" in partition.lift else _MOST
        mosts = [most for kind in kinds if (most := getattr(getattr(limits, kind), key)) is not None]
        if mosts:
            yield name, min(mosts)
