"""Check hardware: CPUs are sockets x cores x threads, memory and disks are set, and jobs get some of each."""

from collections.abc import Iterator, Mapping

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.machines import Hardware, logical_cpus
from gpupool.cluster.units import format_size
from gpupool.slurm.own_count import KEYS, cores_and_threads


def ensure_cores_add_up(site: Site) -> Iterator[Complaint]:
    """CPUs are sockets x cores x threads, and `cores_kept` leaves some for jobs."""
    for name, shape in site.inventory.hardware.items():
        path: Path = ("hardware", name)
        if shape.cores is None:
            if key := next((field for field in ("sockets", "threads", "cores_kept") if getattr(shape, field)), None):
                yield Complaint((*path, key), "needs the cores of each socket", "set cores")
            continue
        sockets, threads = shape.sockets or 1, shape.threads_per_core
        product = logical_cpus(sockets, shape.cores, threads)
        if product != shape.cpus:
            message = (
                f"is {shape.cpus}, but {sockets} sockets x {shape.cores} cores x {threads} threads are {product} "
                "logical CPUs"
            )
            yield Complaint((*path, "cpus"), message, "cpus counts threads, cores are those of one socket")
        elif shape.cores_kept >= sockets * shape.cores:
            message = f"{shape.cores_kept} of {sockets * shape.cores} cores are kept from jobs: no job could run"
            yield Complaint((*path, "cores_kept"), message, "keep fewer")
        if shape.cpus_kept_per_gpu % threads and site.inventory.scheduler.allocate == "core":
            message = f"{shape.cpus_kept_per_gpu} CPUs are not whole cores of {threads} threads"
            yield Complaint((*path, "cpus_kept_per_gpu"), message, f"use a multiple of {threads}")


def ensure_slurms_own_count_adds_up(site: Site) -> Iterator[Complaint]:
    """Sockets, cores and threads in the parameters of nodes are as many as their CPUs, or one CPU for each core."""
    shapes = site.inventory.hardware
    places: list[tuple[Path, Mapping[str, str], Hardware]] = [
        (("hardware", name, "parameters"), shape.parameters, shape) for name, shape in shapes.items()
    ]
    for index, node in enumerate(site.inventory.nodes):
        shape = shapes.get(node.hardware or "")
        if shape and KEYS & {key.lower() for key in node.parameters}:
            both = {**_lower(shape.parameters), **_lower(node.parameters)}
            places.append((("nodes", index, "parameters"), both, shape))
    for path, parameters, shape in places:
        cores, threads = cores_and_threads(parameters, shape.cpus) or (shape.cpus, 1)
        if shape.cpus not in (cores, cores * threads):
            message = f"{cores} cores with {threads} threads each are not the {shape.cpus} CPUs of these nodes"
            yield Complaint(path, message, "correct Sockets, CoresPerSocket and ThreadsPerCore, or cpus")


def _lower(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in parameters.items()}


def ensure_memory_adds_up(site: Site) -> Iterator[Complaint]:
    """Memory is set, the measured value is at most the nominal one, and `memory_kept` leaves some for jobs."""
    reserve = site.inventory.slurm.memory_reserve
    for name, shape in site.inventory.hardware.items():
        path: Path = ("hardware", name)
        if shape.memory is None and shape.real_memory is None:
            yield Complaint(path, "has no memory", "set memory, or real_memory as `slurmd -C` prints it")
        elif shape.memory is not None and shape.real_memory is not None and shape.real_memory > shape.memory:
            message = f"{format_size(shape.real_memory)} is more than the nominal {format_size(shape.memory)}"
            yield Complaint((*path, "real_memory"), message, "correct one of them, or remove memory")
        elif shape.memory is not None and shape.real_memory == shape.memory:
            message = f"{format_size(shape.memory)} is the nominal memory; machines report less: Slurm refuses them"
            hint = "write RealMemory of `slurmd -C` on the node, or remove it: memory less slurm.memory_reserve counts"
            yield Complaint((*path, "real_memory"), message, hint, severity="warning")
        elif shape.memory_kept and shape.memory_kept >= shape.slurm_memory(reserve):
            total = f"{shape.slurm_memory(reserve)}M"
            message = f"{format_size(shape.memory_kept)} of {total} are kept from jobs: no job could run"
            yield Complaint((*path, "memory_kept"), message, "keep less")


def ensure_disks_have_a_size_and_one_path(site: Site) -> Iterator[Complaint]:
    """A disk for jobs has a size, and all disks have the same path: slurm.conf has one TmpFS for all nodes."""
    disks = [(name, shape.local_disk) for name, shape in _of_compute_nodes(site) if shape.local_disk]
    first = next((disk.path for _, disk in disks if disk.path), None)
    for name, disk in disks:
        path: Path = ("hardware", name, "local_disk")
        if disk.size is None and disk.real_size is None:
            yield Complaint(path, "has no size", "set size, or real_size as `slurmd -C` prints it (TmpDisk)")
        elif disk.size is not None and disk.real_size is not None and disk.real_size > disk.size:
            message = f"{format_size(disk.real_size)} is more than the nominal {format_size(disk.size)}"
            yield Complaint((*path, "real_size"), message, "correct one of them, or remove size")
        if disk.path != first:
            message = f"is in {disk.path or '/tmp'}, but Slurm measures the same path on all nodes, {first}"
            yield Complaint((*path, "path") if disk.path else path, message, f"set path: {first}")


def ensure_whole_cores_can_be_allocated(site: Site) -> Iterator[Complaint]:
    """With `allocate: core`, the cores of each compute node are set."""
    scheduler = site.inventory.scheduler
    if scheduler.allocate == "thread":
        if scheduler.one_task_per_core:
            path: Path = ("scheduler", "one_task_per_core")
            yield Complaint(path, "has no effect where a job gets single threads", "set allocate: core, or remove it")
        return
    for name, shape in _of_compute_nodes(site):
        if shape.cores is None:
            message = "scheduler.allocate is core, but the cores of these nodes are not set"
            yield Complaint(("hardware", name), message, "set sockets, cores and threads, as `slurmd -C` prints them")


def _of_compute_nodes(site: Site) -> list[tuple[str, Hardware]]:
    used = {entry.hardware for entry in site.inventory.nodes if "compute" in entry.roles}
    return [(name, shape) for name, shape in site.inventory.hardware.items() if name in used]
