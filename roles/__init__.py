"""One noun each: what a node of this kind has. A role takes (cluster, node) and calls operations.

Each role has `applies`, which says on which nodes it has anything to do, and steps, which the deploy calls on every
node. A step that is not for all nodes has `where` before it.
"""

from collections.abc import Callable
from functools import wraps

from gpupool.cluster.model import Cluster, Node

Applies = Callable[[Cluster, Node], bool]
Step = Callable[[Cluster, Node], None]


def where(applies: Applies) -> Callable[[Step], Step]:
    """Return a decorator for a step: on nodes to which it does not apply, it does nothing."""

    def decorated(step: Step) -> Step:
        @wraps(step)
        def guarded(cluster: Cluster, node: Node) -> None:
            if applies(cluster, node):
                step(cluster, node)

        return guarded

    return decorated


def everywhere(cluster: Cluster, node: Node) -> bool:
    """Apply on all nodes."""
    return True


def is_first_controller(cluster: Cluster, node: Node) -> bool:
    """Apply on the first controller."""
    return node == cluster.controllers[0]


def is_controller(cluster: Cluster, node: Node) -> bool:
    """Apply on the controller and on its backups."""
    return node.has("controller", "backup-controller")
