"""Nodes that are off while idle: what switches them, and the note of what they shall be when they wake."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.slurm.elastic import UNIT, sleepers
from gpupool.compile.stamp import stamp, stamps
from gpupool.operations import elastic, files, service
from gpupool.roles import is_controller, is_first_controller, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes that are off while idle, and on controllers, which switch them."""
    return node.elastic or switches(cluster, node)


def is_used(cluster: Cluster) -> bool:
    """Return whether any node is off while idle."""
    return bool(sleepers(cluster))


def sleeps(cluster: Cluster, node: Node) -> bool:
    """On nodes that are off while idle."""
    return node.elastic


def switches(cluster: Cluster, node: Node) -> bool:
    """On controllers of a cluster with such nodes."""
    return is_used(cluster) and is_controller(cluster, node)


def tells(cluster: Cluster, node: Node) -> bool:
    """On the first of these controllers."""
    return is_used(cluster) and is_first_controller(cluster, node)


@where(switches)
def apply(cluster: Cluster, node: Node) -> None:
    """On controllers, before slurmctld reads of the programs; the service waits until it answers."""
    own = files_of(cluster, node, "elastic")
    files.put(name="Elastic nodes", files=own)
    service.running(name="Elastic service", unit=UNIT.rpartition("/")[2], restart_if=[file.path for file in own])


@where(sleeps)
def check(cluster: Cluster, node: Node) -> None:
    """On a node that sleeps, before its slurmd: from the next start on it looks whether it is up to date."""
    files.put(name="Elastic check", files=files_of(cluster, node, "elastic"))


@where(sleeps)
def join(cluster: Cluster, node: Node) -> None:
    """On a node that sleeps, when its slurmd runs: slurmctld may have missed that it is on."""
    elastic.joined(name="Elastic node is on", node=node.slurm_name)


@where(sleeps)
def finish(cluster: Cluster, node: Node) -> None:
    """On a node that sleeps, when all else is done: it is now what the inventory says."""
    files.put(name="Elastic stamp", files=[stamp(cluster, node)])


@where(tells)
def tell(cluster: Cluster, node: Node) -> None:
    """On the first controller: Slurm keeps the state that each node shall have, nodes that are off included."""
    elastic.stamped(name="Elastic stamps", stamps=dict(stamps(cluster)))
