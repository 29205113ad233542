"""Check that other jobs cannot take the CPUs and the memory that a job on each GPU needs."""

from collections import Counter
from collections.abc import Iterator

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.quote import listed
from gpupool.cluster.resolve.lab_rights import ANY, LabRights
from gpupool.cluster.resolve.ownership import Owner
from gpupool.cluster.resolve.room import beside_the_last_gpu, memory_that_fits, needs_of
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.units import format_size
from gpupool.slurm.releases import first_tested, has


def ensure_kept_cpus_exist(site: Site) -> Iterator[Complaint]:
    """A node has the CPUs that are kept for its GPUs, some CPUs are left, and this Slurm can keep CPUs."""
    version = site.inventory.slurm.version
    for entry, shape, gpus in site.machines:
        path: Path = ("hardware", str(entry.hardware), "cpus_kept_per_gpu")
        kept = shape.cpus_kept_per_gpu
        if kept and not has(version, "RestrictedCoresPerGPU"):
            message = f"Slurm {version} cannot reserve CPUs for GPUs: other jobs may take all of them"
            yield Complaint(path, message, f"use {first_tested('RestrictedCoresPerGPU')} or later", "warning")
        elif kept * gpus > shape.job_cpus:
            available = f"{shape.job_cpus} CPUs" + (" for jobs" if shape.cores_kept else "")
            yield Complaint(path, f"{gpus} x {kept} CPUs reserved for the GPUs of {entry.name}, which has {available}")
        if kept and len(entry.gpus) > 1:
            message = f"{entry.name} has {' and '.join(entry.gpus)}: Slurm can reserve CPUs for only one type per node"
            yield Complaint(path, message, "give this node its own hardware entry, without cpus_kept_per_gpu")
    if site.machines and all(shape.cpus_kept_per_gpu * gpus == shape.job_cpus for _, shape, gpus in site.machines):
        message = "all CPUs of all nodes are reserved for GPUs: a job without GPUs can never run"
        yield Complaint(("hardware",), message, "reserve fewer", "warning")


_DEFAULTS = {"defmempercpu", "defmempergpu", "defmempernode"}  # parameters of partitions


def ensure_jobs_without_memory_leave_some(site: Site) -> Iterator[Complaint]:
    """If several GPUs share a node, a job without a memory request does not get all memory."""
    if any(value is not None for _, value in site.inventory.scheduler.default_memory):
        return
    places = [entry for _, entry in site.partitions() if not _DEFAULTS & {key.lower() for key in entry.parameters}]
    nodes = frozenset[str]().union(*(site.nodes_of(entry.nodes) for entry in places))
    reached = {site.node_table.by_name[name].entry.name for name in nodes}
    shared = [entry.name for entry, _, gpus in site.divisible_machines if gpus > 1 and entry.name in reached]
    if shared:
        message = (
            f"is not set: a job without a memory request takes all memory of {shared[0]}, and no other job can use "
            "its GPUs"
        )
        yield Complaint(("scheduler", "default_memory"), message, "set per_gpu and per_cpu", "warning")


def ensure_neighbours_leave_room(site: Site) -> Iterator[Complaint]:
    """No job, with or without GPUs, takes the CPUs or the memory that jobs on a lab's GPUs need."""
    inventory = site.inventory
    if not site.accounts_of_kind("lab") or not has(inventory.slurm.version, "RestrictedCoresPerGPU"):
        return
    reported: set[str] = set()
    for entry, shape, _ in site.divisible_machines:
        name = str(entry.hardware)
        if not shape.cpus_kept_per_gpu and name not in reported:
            reported.add(name)
            message = f"jobs without GPUs can take all CPUs of {entry.name}, and no job can then use its GPUs"
            yield Complaint(("hardware", name), message, "set cpus_kept_per_gpu", "warning")
    default, most = inventory.scheduler.default_memory, inventory.scheduler.max_memory
    if default.per_gpu is None:
        return
    path: Path = ("scheduler", "max_memory")
    if most.per_gpu is None or most.per_cpu is None:
        message = "a job can take so much memory that no job can use the node's other GPUs"
        hint = f"set per_gpu, and per_cpu for jobs without GPUs{_what_fits(site)}"
        yield Complaint(path, message, hint, "warning")
        return
    for entry, shape, _ in site.divisible_machines:
        gpus = +Counter(entry.gpus)
        each = {gpu: max(most.of_gpu(gpu) or 0, default.of_gpu(gpu) or 0) for gpu in gpus}
        for last in gpus:
            needed = default.of_gpu(last) or 0
            others = gpus - Counter([last])
            beside = beside_the_last_gpu(site, shape, [each[gpu] for gpu in others.elements()], most.per_cpu)
            if beside.taken + needed > beside.memory:
                amounts = [f"{count} GPUs at {format_size(most.of_gpu(gpu) or 0)}" for gpu, count in others.items()]
                amounts.append(f"{beside.cpus} CPUs at {format_size(most.per_cpu)}")
                kind = f" {last}" if len(gpus) > 1 else ""
                message = (
                    f"{listed(amounts)} leave the last{kind} GPU of {entry.name} less than its "
                    f"{format_size(needed)}: Slurm has {beside.memory}M there"
                )
                hint = f"lower these or default_memory.per_gpu{_what_fits(site)}"
                yield Complaint(path, message, hint, "warning")
                break


def _what_fits(site: Site) -> str:
    """Return the end of a hint: sizes for all nodes, if the default memory allows any."""
    default = site.inventory.scheduler.default_memory
    if default.per_cpu is None:
        return ""
    most, equal = memory_that_fits(site, default.per_cpu)
    if most and most >= max(default.of_gpus(site.inventory.gpu_types), default=0):
        return f": {{per_gpu: {format_size(most)}, per_cpu: {format_size(default.per_cpu)}}} fits"
    return f": a default of at most {format_size(equal)} leaves room on all nodes" if equal > 0 else ""


def ensure_labs_can_use_their_gpus(site: Site) -> Iterator[Complaint]:
    """A lab's other limits and its partitions allow it to use all GPUs that it contributed."""
    inventory = site.inventory
    default, share = inventory.scheduler.default_memory, inventory.scheduler.lab_share
    usual = max(default.of_gpus(inventory.gpu_types), default=0)
    cpus = max((inventory.scheduler.default_cpus_per_gpu or {}).values(), default=None)
    of_cpus = f"a job without a CPU request gets {cpus} per GPU" if cpus else "a GPU job has at least one CPU"
    for key, least, why in (
        ("cpu", cpus or 1, of_cpus),
        ("mem", usual, f"a job without a memory request gets {format_size(usual)} per GPU"),
    ):
        each = getattr(share, key)
        if each is not None and each < least:
            message = "labs could not use all their GPUs"
            yield Complaint(("scheduler", "lab_share", key), message, why)
    most = max(inventory.scheduler.warn_cpus_per_gpu.values(), default=0)
    if share.cpu is not None and 1 <= share.cpu < most:
        message = f"a lab whose jobs use the {most} CPUs per GPU that warn_cpus_per_gpu allows cannot use all its GPUs"
        yield Complaint(("scheduler", "lab_share", "cpu"), message, severity="warning")
    for owner in site.ownership.owners:
        if owner.gpus:
            yield from _lab(site, owner)


def _lab(site: Site, owner: Owner) -> Iterator[Complaint]:
    lab, index, cap = owner.account, owner.index, owner.gpus
    path: Path = ("accounts", index, "limits", "group")
    claim: Path = ("accounts", index, "contributed_gpus" if owner.number else "owns")
    for key, need in needs_of(site, owner).items():
        if need.is_short:
            hint = f"set at least {need.least}"
            if key == "mem":
                hint = f"set at least {-(-need.least // 1024)}G for its jobs without a memory request"
            yield Complaint((*path, key), f"{lab.name} could not use its {cap} GPUs", hint)
    parents = {account.name: account for account in site.inventory.accounts}
    above = parents.get(lab.parent or "")
    if above and above.limits.group.gpu is not None and above.limits.group.gpu < cap:
        message = (
            f"{lab.name} could not use its {cap} GPUs: its parent {above.name} is limited to {above.limits.group.gpu}"
        )
        yield Complaint(claim, message)
    lab_rights = LabRights.of(site)
    for resource, own in (owner.types or {ANY: cap}).items() if lab_rights.computable else ():
        available = lab_rights.amount(lab_rights.nodes_without_preemption(lab.name) & lab_rights.pool, resource)
        if available < own:
            verb, noun = ("owns", f"{resource} GPUs") if owner.types else ("has contributed", "GPUs")
            message = (
                f"{lab.name} {verb} {own} {noun}, but the partitions where its jobs are not preempted have {available}"
            )
            yield Complaint(claim, message, "allow it in a partition that is not preemptable")
