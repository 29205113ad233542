"""A node's hardware in slurm.conf: its CPUs in sockets, cores and threads, its disk, and the part that no job gets."""

from collections.abc import Iterator
from typing import Literal

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.slurm.own_count import cores_and_threads

Unit = Literal["thread", "core"]


def select_parameters(cluster: Cluster) -> str:
    """Return SelectTypeParameters: the resources that Slurm allocates."""
    if cluster.scheduler.allocate == "thread":
        return "CR_CPU_Memory"
    return "CR_Core_Memory" + (",CR_ONE_TASK_PER_CORE" if cluster.scheduler.one_task_per_core else "")


def cpu_words(node: Node, unit: Unit) -> Iterator[str]:
    """Yield the keys of a node's line that count its CPUs."""
    yield f"CPUs={node.cpus}"
    hardware, each = node.hardware, threads(node, unit)
    if unit == "core" and hardware and not node.cpus_kept:
        yield f"Sockets={hardware.sockets or 1}"
        yield f"CoresPerSocket={hardware.cores}"
        yield f"ThreadsPerCore={each}"
    elif node.cpus_kept or (hardware and hardware.cores_kept):
        # Slurm keeps a GPU's CPUs within one socket, so there is only one; a thread that it allocates alone is a core.
        yield "Sockets=1"
        yield f"CoresPerSocket={cores(node, unit)}"
        yield f"ThreadsPerCore={each}"
    # Otherwise sockets, cores and threads are not set, so that Slurm allocates single logical CPUs, unless the
    # parameters of these nodes have them.
    if node.cpus_kept:
        yield f"RestrictedCoresPerGPU={node.cpus_kept // each}"
    if hardware and hardware.cores_kept:
        yield f"CoreSpecCount={hardware.system_cpus // each}"


def other_words(node: Node) -> Iterator[str]:
    """Yield the keys of a node's line for memory that no job gets, the disk and the weight."""
    if (hardware := node.hardware) is None:
        return
    if hardware.memory_kept:
        yield f"MemSpecLimit={hardware.memory_kept}"
    if node.local_disk is not None:
        yield f"TmpDisk={node.local_disk}"
    if hardware.weight is not None:
        yield f"Weight={hardware.weight}"


def disk_path(cluster: Cluster) -> str | None:
    """Return TmpFS, the file system that slurmd measures; None for Slurm's own. A testbed's nodes do not have it."""
    if cluster.drivers.testbed:
        return None
    disks = (node.hardware.local_disk for node in cluster.having("compute") if node.hardware)
    return next((disk.path for disk in disks if disk and disk.path), None)


def cores(node: Node, unit: Unit) -> int:
    """Return how many cores Slurm sees on a node; if it allocates threads, each thread is a core."""
    return node.cpus // threads(node, unit)


def threads(node: Node, unit: Unit) -> int:
    """Return how many CPUs of a node Slurm allocates together."""
    if counted := cores_and_threads(node.parameters, node.cpus):
        return counted[1] if counted[0] * counted[1] == node.cpus else 1
    return node.hardware.threads_per_core if unit == "core" and node.hardware else 1
