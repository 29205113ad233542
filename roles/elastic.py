"""Elastic nodes, which are off while idle: the service that switches them, and their stamps.

A stamp is the checksum of a node's desired state. At each start of slurmd, the node compares it with the one in Slurm.
"""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.elastic import UNIT, sleepers
from gpupool.compile.stamp import stamp, stamps
from gpupool.operations import elastic, files, service
from gpupool.roles import is_controller, is_first_controller, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On elastic nodes, and on controllers, which switch them."""
    return node.elastic or switches_nodes(cluster, node)


def is_used(cluster: Cluster) -> bool:
    """Return whether the cluster has elastic nodes."""
    return bool(sleepers(cluster))


def is_elastic(cluster: Cluster, node: Node) -> bool:
    """On elastic nodes."""
    return node.elastic


def switches_nodes(cluster: Cluster, node: Node) -> bool:
    """On controllers of a cluster with elastic nodes."""
    return is_used(cluster) and is_controller(cluster, node)


def stores_stamps(cluster: Cluster, node: Node) -> bool:
    """On the first controller of a cluster with elastic nodes."""
    return is_used(cluster) and is_first_controller(cluster, node)


@where(switches_nodes)
def apply(cluster: Cluster, node: Node) -> None:
    """Start the service on controllers before slurm.conf names its programs; it retries until slurmctld answers."""
    own = files_of(cluster, node, "elastic")
    files.put(name="Elastic nodes", files=own)
    service.running(name="Elastic service", unit=UNIT.rpartition("/")[2], restart_if=[file.path for file in own])


@where(is_elastic)
def install_check(cluster: Cluster, node: Node) -> None:
    """Install the check of the stamp, which runs at each start of slurmd, on an elastic node."""
    files.put(name="Elastic check", files=files_of(cluster, node, "elastic"))


@where(is_elastic)
def join(cluster: Cluster, node: Node) -> None:
    """Tell slurmctld that an elastic node is on, after its slurmd has started: slurmctld may have missed that."""
    elastic.joined(name="Elastic node is on", node=node.slurm_name)


@where(is_elastic)
def write_stamp(cluster: Cluster, node: Node) -> None:
    """Write the stamp of an elastic node, after all its other steps: the node is now up to date."""
    files.put(name="Elastic stamp", files=[stamp(cluster, node)])


@where(stores_stamps)
def store_stamps(cluster: Cluster, node: Node) -> None:
    """Store the stamps of all elastic nodes, powered up or not, in Slurm."""
    elastic.stamped(name="Elastic stamps", stamps=dict(stamps(cluster)))
