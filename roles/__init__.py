"""Roles: each is a module with the steps for one purpose of a node. A step gets (cluster, node) and calls operations.

Each role has `applies`, which returns whether a node has the role. The deploy calls the steps on every node; the
decorator `where` limits a step to some nodes, and `apart` keeps its failure from the other roles.
"""

from collections.abc import Callable
from functools import wraps

from gpupool.cluster.model import Cluster, Node
from gpupool.operations.apart import part

Applies = Callable[[Cluster, Node], bool]
Step = Callable[[Cluster, Node], None]


def where(applies: Applies) -> Callable[[Step], Step]:
    """Return a decorator that skips a step on nodes to which it does not apply."""

    def decorated(step: Step) -> Step:
        @wraps(step)
        def guarded(cluster: Cluster, node: Node) -> None:
            if applies(cluster, node):
                step(cluster, node)

        return guarded

    return decorated


def apart(step: Step) -> Step:
    """Return a step whose failure ends only the steps of the same role that are apart, too; the node still fails."""
    role = step.__module__.rpartition(".")[2]

    @wraps(step)
    def parted(cluster: Cluster, node: Node) -> None:
        with part(role):
            step(cluster, node)

    return parted


def everywhere(cluster: Cluster, node: Node) -> bool:
    """Apply on all nodes."""
    return True


def is_first_controller(cluster: Cluster, node: Node) -> bool:
    """Apply on the first controller."""
    return node == cluster.controllers[0]


def is_controller(cluster: Cluster, node: Node) -> bool:
    """Apply on the controller and on its backups."""
    return node.has("controller", "backup-controller")


def follows_controller(cluster: Cluster, node: Node) -> bool:
    """Apply on all nodes with a part of Slurm except the first controller."""
    return node.runs_slurm and not is_first_controller(cluster, node)
