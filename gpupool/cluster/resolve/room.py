"""CPUs and memory that are left beside GPUs, and what a lab's limits must allow so that it can use all its GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpupool.cluster.resolve.ownership import Owner
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.machines import Hardware


@dataclass(frozen=True)
class Beside:
    """The maximum that other jobs may hold on a node with several GPUs: CPUs that are not kept, and MiB of memory.

    `memory` is what Slurm has there; `taken` is what jobs on all other GPUs and on the `cpus` may hold.
    """

    cpus: int
    memory: int
    taken: int


def beside_the_last_gpu(site: Site, shape: Hardware, others: Sequence[int], per_cpu: int) -> Beside:
    """Return what jobs may hold beside a node's last GPU: MiB on each of the `others`, and per CPU."""
    kept = (len(others) + 1) * shape.cpus_kept_per_gpu
    cpus = max(0, shape.job_cpus - kept) if shape.cpus_kept_per_gpu else 0
    memory = shape.job_memory(site.inventory.slurm.memory_reserve)
    return Beside(cpus, memory, sum(others) + cpus * per_cpu)


def memory_that_fits(site: Site, per_cpu: int) -> tuple[int, int]:
    """Return the largest max_memory.per_gpu beside which each last GPU has its default, and the largest default.

    Both in MiB, whole GiB, for jobs without GPUs that hold `per_cpu` MiB on each CPU that is not kept.
    """
    default = site.inventory.scheduler.default_memory
    most, equal = [], []
    for entry, shape, gpus in site.divisible_machines:
        beside = beside_the_last_gpu(site, shape, [0] * (gpus - 1), per_cpu)
        left = beside.memory - beside.taken
        equal.append(left // gpus)
        if gpus > 1:
            needed = max((default.of_gpu(gpu) or 0 for gpu, count in entry.gpus.items() if count), default=0)
            most.append((left - needed) // (gpus - 1))
    return min(most, default=0) // 1024 * 1024, min(equal, default=0) // 1024 * 1024


@dataclass(frozen=True)
class Need:
    """The value of a limit on a lab's account (None: no limit), and the minimum for using all the lab's GPUs."""

    allowed: int | None
    least: int

    @property
    def is_short(self) -> bool:
        """Whether the limit prevents the lab from using GPUs that it owns."""
        return self.allowed is not None and self.allowed < self.least


def needs_of(site: Site, owner: Owner) -> dict[str, Need]:
    """Return the need of an owner's account for each key of a limit; memory in MiB."""
    scheduler, group, gpus = site.inventory.scheduler, owner.account.limits.group, owner.gpus
    default, share = scheduler.default_memory, scheduler.lab_share.mem
    memory = gpus * share if group.mem is None and share is not None else group.mem
    most = max((count for _, _, count in site.machines), default=0)
    types = {gpu for entry, _, _ in site.machines for gpu in entry.gpus}
    # a lab that owns a number of GPUs may use any types
    usual = max(default.of_gpus(types), default=0)
    together = sum(count * (default.of_gpu(gpu) or 0) for gpu, count in owner.types.items()) or gpus * usual
    typed = sum(group.gpus.values()) if types and types <= group.gpus.keys() else None
    # Without a default for each GPU, Slurm counts all memory of a node for a job that requests none.
    reserve = site.inventory.slurm.memory_reserve
    node = max((shape.job_memory(reserve) for _, shape, _ in site.machines), default=0)
    return {
        "cpu": Need(group.cpu, gpus * max((scheduler.default_cpus_per_gpu or {}).values(), default=1)),
        "mem": Need(memory, together or node),
        "nodes": Need(group.nodes, -(-gpus // most) if most else 0),
        "gpus": Need(typed, gpus),
    }
