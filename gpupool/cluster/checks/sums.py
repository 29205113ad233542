"""Check sums: GPUs in slots, cluster.totals, default memory, capacity of fileservers, and mounts."""

from collections.abc import Iterator, Mapping
from typing import Any

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.scheduling import DefaultMemory
from gpupool.cluster.units import format_size


def _compute(site: Site) -> list[Any]:
    return [node for node in site.node_table.nodes if "compute" in node.entry.roles]


def ensure_gpus_have_slots(site: Site) -> Iterator[Complaint]:
    """A node has no more GPUs than its hardware has slots."""
    for index, node in enumerate(site.inventory.nodes):
        shape, types = site.inventory.hardware.get(node.hardware or ""), site.inventory.gpu_types
        # MIG slices use no slots.
        gpus = sum(count for gpu, count in node.gpus.items() if not (gpu in types and types[gpu].mig))
        if shape and shape.gpu_slots is not None and gpus > shape.gpu_slots:
            message = f"{gpus} GPUs, but {node.hardware} has {shape.gpu_slots} slots"
            yield Complaint(("nodes", index, "gpus"), message)


def ensure_totals_hold(site: Site) -> Iterator[Complaint]:
    """cluster.totals are the sums over compute nodes."""
    totals, hardware = site.inventory.cluster.totals, site.inventory.hardware
    if totals is None:
        return
    cpus = sum(hardware[n.entry.hardware].cpus for n in _compute(site) if n.entry.hardware in hardware)
    gpus = sum(sum(node.entry.gpus.values()) for node in _compute(site))
    for key, wanted, actual in (("gpus", totals.gpus, gpus), ("cpus", totals.cpus, cpus)):
        if wanted is not None and wanted != actual:
            yield Complaint(("cluster", "totals", key), f"is {wanted}, but the compute nodes have {actual}")


def ensure_default_memory_fits(site: Site) -> Iterator[Complaint]:
    """Default memory is set in one way, and jobs that use a whole node fit into its memory."""
    default, hardware = site.inventory.scheduler.default_memory, site.inventory.hardware
    path: Path = ("scheduler", "default_memory")
    given = {key for key, value in default if value is not None}
    if "per_node" in given and len(given) > 1:
        yield Complaint((*path, "per_node"), "cannot be combined with per_gpu or per_cpu", "keep one")
    if "per_gpu" in given and not {"per_cpu", "per_node"} & given:
        message = "a job without GPUs would take all memory of its node"
        yield Complaint((*path, "per_gpu"), message, "add per_cpu, the default for jobs without GPUs")
    narrow: dict[tuple[str, tuple[int, ...]], dict[tuple[Any, ...], tuple[int, list[int], str, int]]] = {}
    for node in _compute(site):
        shape = hardware.get(node.entry.hardware or "")
        if shape is None:
            continue
        memory = shape.job_memory(site.inventory.slurm.memory_reserve)
        for key, counts in _defaults(default, node.entry.gpus, shape.job_cpus):
            times = sum(counts.values())
            if times and sum(each * count for each, count in counts.items()) > memory:
                kinds = narrow.setdefault((key, tuple(counts)), {})
                kind = (memory // times, list(counts.values()), node.name, memory)
                kinds.setdefault((node.entry.hardware, *node.entry.gpus.items()), kind)
    for (key, sizes), kinds in narrow.items():
        (most, numbers, name, memory), *others = sorted(kinds.values(), key=lambda kind: kind[0])
        amounts = " and ".join(f"{times} x {format_size(each)}" for times, each in zip(numbers, sizes, strict=True))
        message = f"{amounts} do not fit on {name}: Slurm has {memory}M there"
        if others:
            message += f"; it is too much for {listed([other for _, _, other, _ in others])} as well"
        hint = "one job per GPU would not fit" if key == "per_node" else "whole-node jobs would be refused"
        yield Complaint((*path, key), message, f"at most {most}M{' on average' * (len(sizes) > 1)}: {hint}")


def _defaults(default: DefaultMemory, gpus: Mapping[str, int], cpus: int) -> Iterator[tuple[str, dict[int, int]]]:
    """Yield each kind of default with what jobs on all of a node have: sizes in MiB, and how often each."""
    of_gpus: dict[int, int] = {}
    for gpu, count in gpus.items():
        if count and (each := default.of_gpu(gpu)) is not None:
            of_gpus[each] = of_gpus.get(each, 0) + count
    yield "per_gpu", of_gpus
    yield "per_cpu", {} if default.per_cpu is None else {default.per_cpu: cpus}
    yield "per_node", {} if default.per_node is None else {default.per_node: max(1, sum(gpus.values()))}


def ensure_fileservers_hold_their_exports(site: Site) -> Iterator[Complaint]:
    """Exports fit into their server's capacity, each fileserver has exports, and each lab has a space."""
    storage = site.inventory.storage
    for node in site.node_table.nodes:
        if "fileserver" not in node.entry.roles or not node.entry.managed:
            continue
        sizes = [export.size or 0 for export in storage.exports.values() if export.server == node.name]
        if not sizes:
            yield Complaint(node.path, f"the fileserver {node.name} exports nothing", severity="warning")
        elif node.entry.capacity and sum(sizes) > node.entry.capacity:
            message = (
                f"exports of {format_size(sum(sizes))} on {node.name}, which has a capacity of "
                f"{format_size(node.entry.capacity)}"
            )
            yield Complaint((*node.path, "capacity"), message, severity="warning")
    for index, account in enumerate(site.inventory.accounts):
        if account.kind == "lab" and storage.exports and not storage.spaces.get(account.name):
            yield Complaint(("accounts", index), f"the lab {account.name} has no space on storage", severity="info")


def ensure_storage_is_mounted_somewhere(site: Site) -> Iterator[Complaint]:
    """Each export is mounted by a node, and links are on a node."""
    storage = site.inventory.storage
    for key, export in storage.exports.items():
        if export.enabled and not (export.mount_on or storage.mount_on):
            path: Path = ("storage", "exports", key)
            yield Complaint(path, "no node mounts it", "set storage.mount_on, or mount_on here", "warning")
    if (storage.links or storage.spaces) and not (storage.links_on or storage.mount_on):
        key = "links" if storage.links else "spaces"
        yield Complaint(
            ("storage", key), "these links are on no node", "set storage.links_on or storage.mount_on", "warning"
        )
