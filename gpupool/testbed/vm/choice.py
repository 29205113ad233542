"""The nodes of a testbed that are virtual machines, their size, and the mounts they share."""

from collections.abc import Collection, Mapping
from typing import Literal

from gpupool.cluster.model import Cluster
from gpupool.cluster.mount import Mount
from gpupool.cluster.node import Node
from gpupool.errors import TestbedError, UsageError
from gpupool.testbed.spec import Machine

MEMORY = 1536  # MiB of a machine without jobs, or whose node is too large for a virtual machine
KERNEL_MEMORY = 288  # MiB that the kernel uses, which Slurm's RealMemory leaves out
MOST_MEMORY = 8192
MOST_CPUS = 16


def chosen(cluster: Cluster, selector: str) -> tuple[str, ...]:
    """Return the nodes of a selector such as `@fileserver,gpu-[1-2]`, in the testbed's order; UsageError if wrong."""
    try:
        selected = cluster.select(selector) if selector else frozenset()
    except ValueError as error:
        raise UsageError(f"--vm {error}") from None
    if selector and not selected:
        raise UsageError(f"--vm {selector}: {cluster.name} has no such node")
    if strangers := [name for name in cluster.nodes if name in selected and name not in cluster.testbed_nodes]:
        nodes = ", ".join(cluster.testbed_nodes)
        raise UsageError(
            f"--vm {selector}: {', '.join(strangers)} not in the testbed of {cluster.name}: it has {nodes}"
        )
    return tuple(name for name in cluster.testbed_nodes if name in selected)


def machine_of(cluster: Cluster, node: Node) -> Machine:
    """Return the virtual machine for a node: of the node's size if that is possible, otherwise small."""
    disks = cluster.testbed.disks.get(node.name, ()) if cluster.testbed else ()
    threads = cluster.testbed.threads.get(node.name, 1) if cluster.testbed else 1
    if not node.has("compute") or not _fits(node):
        return Machine(disks=tuple(disks))
    return Machine(node.cpus, threads, max(MEMORY, node.memory + KERNEL_MEMORY), tuple(disks))


def true_cpus(nodes: Mapping[str, Node], machines: Collection[str]) -> bool:
    """Return whether every compute node is a virtual machine with the CPUs and memory of the inventory."""
    return all(node.name in machines and _fits(node) for node in nodes.values() if node.has("compute"))


def _fits(node: Node) -> bool:
    return node.cpus <= MOST_CPUS and node.memory + KERNEL_MEMORY <= MOST_MEMORY


def joined(mount: Mount, client: str, machines: Collection[str]) -> bool:
    """Return whether a client can have a mount: machines mount exports of machines, containers share volumes."""
    if mount.by_site:
        return client not in machines
    return (mount.server in machines) == (client in machines)


def left_out(cluster: Cluster, machines: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the mount points that nodes of the testbed lack, by node."""
    left = {
        name: tuple(mount.at for mount in cluster.mounts if name in mount.clients and not joined(mount, name, machines))
        for name in cluster.testbed_nodes
    }
    return {name: paths for name, paths in left.items() if paths}


def ensure_fit(
    cluster: Cluster, nodes: Mapping[str, Node], machines: Collection[str], cgroup: Literal["v1", "v2"]
) -> None:
    """Raise TestbedError for virtual machines that the testbed cannot have."""
    if strangers := [name for name in machines if name not in nodes]:
        raise TestbedError(f"{', '.join(strangers)}: no such node in the testbed; it has {', '.join(nodes)}")
    compute = [name for name, node in nodes.items() if node.has("compute")]
    left = [name for name in compute if name not in machines]
    if cgroup == "v1" and left and len(left) < len(compute):
        raise TestbedError(
            f"Slurm has one cgroup.conf for all, and on this machine containers have control groups v1, machines v2: "
            f"either all compute nodes must be virtual machines, or none (--vm {','.join([*machines, *left])})"
        )
