"""Roles: each is a module with the steps for one purpose of a node. A step gets (cluster, node) and calls operations.

Each role has `applies`, which returns whether a node has the role. The deploy calls the steps on every node; the
decorator `where` limits a step to some nodes, and to nodes where `manage` has the role; `apart` keeps its failure from
the other roles.
"""

from collections.abc import Callable
from functools import wraps

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.managed import ROLES
from gpupool.operations.apart import part

Applies = Callable[[Cluster, Node], bool]
Step = Callable[[Cluster, Node], None]


def where(applies: Applies, *roles: str) -> Callable[[Step], Step]:
    """Return a decorator that skips a step on nodes to which it does not apply, or where its role is not managed.

    `roles` replace the role of the step's module: one of them must be managed. A step of a module outside of the roles,
    as in a deploy of the site's own, runs wherever it applies.
    """

    def decorated(step: Step) -> Step:
        own = roles or (role_of(step),)
        is_of_role = not {*own}.isdisjoint(ROLES)

        @wraps(step)
        def guarded(cluster: Cluster, node: Node) -> None:
            if (node.manages(*own) or not is_of_role) and applies(cluster, node):
                step(cluster, node)

        return guarded

    return decorated


def apart(step: Step) -> Step:
    """Return a step whose failure ends only the steps of the same role that are apart, too; the node still fails."""
    role = role_of(step)

    @wraps(step)
    def parted(cluster: Cluster, node: Node) -> None:
        with part(role):
            step(cluster, node)

    return parted


def role_of(step: Step) -> str:
    """Return the role of a step: the name of its module."""
    return step.__module__.rpartition(".")[2]


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
