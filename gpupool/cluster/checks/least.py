"""Check the minimum requests of jobs: jobs can meet them, and cannot bypass them."""

from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.least import (
    MOST,
    RESOURCES,
    amounts_of,
    effective_limits,
    in_units,
    most_by_qos,
    usable_qos,
)
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.labs import Limits


def ensure_slurm_has_the_minimums(site: Site) -> Iterator[Complaint]:
    """Slurm has minimums only for QoS and partitions, and only for resources that a job requests."""
    for index, account in enumerate(site.inventory.accounts):
        if account.limits.per_job_least.model_fields_set:
            path: Path = ("accounts", index, "limits", "per_job_least")
            yield Complaint(path, "Slurm has no minimum for an account", "set it on a QoS or a partition")
    for path, limits, _ in _blocks(site):
        for key, value in limits.per_job_least:
            if key not in (*RESOURCES, "gpus") and value is not None:
                hint = f"use {', '.join(RESOURCES)} or gpus"
                yield Complaint((*path, "per_job_least", key), f"gpupool has no minimum of {key} for a job", hint)


def ensure_minimums_can_be_met(site: Site) -> Iterator[Complaint]:
    """The minimum of a partition or QoS is at most its other limits, and at most what its nodes have."""
    for path, limits, nodes in _blocks(site):
        least, pool = limits.per_job_least, site.pool(nodes)
        here = (*path, "per_job_least")
        for key, value in amounts_of(least):
            amount = in_units(key, value)
            if pool and value > pool[key]:
                there = f"there {'is' if key == 'mem' else 'are'} {in_units(key, pool[key])}"
                yield Complaint((*here, key), f"is {amount}, but {there}: no job could ever run")
            for kind in MOST:
                most = getattr(getattr(limits, kind), key)
                if most is not None and value > most:
                    above = f"above {kind}.{key}, which is {in_units(key, most)}"
                    yield Complaint((*here, key), f"is {amount}, {above}: no job could run")
    for path, partition in site.partitions():
        for key, value in amounts_of(effective_limits(partition).per_job_least):
            if mosts := list(most_by_qos(site, partition, key)):
                name, most = max(mosts, key=lambda named: named[1])
                if len(mosts) == len(usable_qos(site, partition)) and value > most:
                    allowed = f"no QoS that may be used here allows more than {in_units(key, most)} ({name})"
                    message = f"is {in_units(key, value)}, but {allowed}"
                    yield Complaint((*path, "limits", "per_job_least", key), message, "lower it: no job could run")


def ensure_minimums_of_qos_are_kept(site: Site) -> Iterator[Complaint]:
    """A partition's minimum replaces the minimum of the job's QoS, so it must not be lower."""
    for path, partition in site.partitions():
        here = dict(amounts_of(effective_limits(partition).per_job_least))
        for name in usable_qos(site, partition):
            for key, amount in amounts_of(site.inventory.qos[name].limits.per_job_least):
                if key in here and here[key] < amount:
                    own, of_qos = in_units(key, here[key]), in_units(key, amount)
                    message = f"{own} replaces the {of_qos} of QoS {name}, so its jobs here could request less"
                    yield Complaint((*path, "limits", "per_job_least", key), message, f"set {of_qos}, or remove it")


def ensure_jobs_without_gpus_have_a_place(site: Site) -> Iterator[Complaint]:
    """`without_gpu` names a partition that accepts jobs without GPUs, and is preemptable only if this one is."""
    entries = {name: entry for _, entry in site.partitions() for name, _ in site.partition_names(entry)}
    for path, partition in site.partitions():
        word, here = partition.without_gpu, (*path, "without_gpu")
        if word is None:
            continue
        if not site.pool(frozenset({partition.nodes})).get("gpu", 1):
            yield Complaint(here, f"no node of {partition.name} has a GPU, so no job could run there", "remove it")
        for name, account in site.partition_names(partition) if word != "refuse" else ():
            target = entries.get(word.replace("{account}", account or ""))
            if target is None:
                yield Complaint(here, f"there is no partition {word!r}", "name a partition, or set it to refuse")
            elif target.without_gpu:
                message = "this is the partition itself" if target is partition else f"{word} has a without_gpu, too"
                yield Complaint(here, message, "name a partition that takes jobs without GPUs, or set it to refuse")
            elif site.is_preempted(target) and not site.is_preempted(partition):
                message = f"{word} is preemptable, and {name} is not"
                yield Complaint(here, message, "name a partition that is not: preemption is the users' choice")
            else:
                continue
            break


def _blocks(site: Site) -> Iterator[tuple[Path, Limits, frozenset[str]]]:
    for name, qos in site.inventory.qos.items():
        yield ("qos", name, "limits"), qos.limits, frozenset({"@compute"})
    for path, partition in site.partitions():
        yield (*path, "limits"), partition.limits, frozenset({partition.nodes})
