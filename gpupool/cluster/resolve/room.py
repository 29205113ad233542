"""How much CPU and memory is left beside GPUs, and what a lab's limits must allow so that it can use all of its own."""

from dataclasses import dataclass

from gpupool.cluster.resolve.ownership import Owner
from gpupool.cluster.resolve.site import Site
from gpupool.cluster.schema.machines import Hardware


@dataclass(frozen=True)
class Beside:
    """A node of several GPUs whose other jobs hold the most: CPUs that are not kept, and MiB of memory.

    `memory` is what Slurm has there; `taken` what jobs on all other GPUs and on the `cpus` may hold.
    """

    cpus: int
    memory: int
    taken: int


def beside_the_last_gpu(site: Site, shape: Hardware, gpus: int, per_gpu: int, per_cpu: int) -> Beside:
    """Return what jobs may hold beside a node's last GPU with these most MiB for each of their GPUs and CPUs."""
    cpus = max(0, shape.job_cpus - gpus * shape.cpus_kept_per_gpu) if shape.cpus_kept_per_gpu else 0
    memory = shape.job_memory(site.inventory.slurm.memory_reserve)
    return Beside(cpus, memory, (gpus - 1) * per_gpu + cpus * per_cpu)


@dataclass(frozen=True)
class Need:
    """What a limit of a lab's account allows (None: no limit), and the least that lets the lab use all its GPUs."""

    allowed: int | None
    least: int

    @property
    def is_short(self) -> bool:
        """Whether the limit keeps the lab from GPUs that it owns."""
        return self.allowed is not None and self.allowed < self.least


def needs_of(site: Site, owner: Owner) -> dict[str, Need]:
    """Return what the limits on an owner's account must allow, by their keys; memory in MiB."""
    scheduler, group, gpus = site.inventory.scheduler, owner.account.limits.group, owner.gpus
    default, share = scheduler.default_memory.per_gpu or 0, scheduler.lab_share.mem
    memory = gpus * share if group.mem is None and share is not None else group.mem
    most = max((count for _, _, count in site.machines), default=0)
    types = {gpu for entry, _, _ in site.machines for gpu in entry.gpus}
    typed = sum(group.gpus.values()) if types and types <= group.gpus.keys() else None
    # Slurm counts a job that waits and names no memory as a whole node's against this limit
    reserve = site.inventory.slurm.memory_reserve
    node = max((shape.job_memory(reserve) for _, shape, _ in site.machines), default=0)
    return {
        "cpu": Need(group.cpu, gpus * (scheduler.default_cpus_per_gpu or 1)),
        "mem": Need(memory, (gpus - 1) * default + max(node, default)),
        "nodes": Need(group.nodes, -(-gpus // most) if most else 0),
        "gpus": Need(typed, gpus),
    }
