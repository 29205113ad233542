"""The steps of a replacement of the munge key on a node, as pyinfra deploys.

Each operation is called on its own line, because pyinfra identifies operations by line.
"""

from gpupool.engine.current import cluster_and_node
from gpupool.operations import rekey, service
from gpupool.operations.together import barrier
from gpupool.roles import is_first_controller


def store() -> None:
    """Create the new key on the first controller, and copy it to all other nodes; no daemon uses it yet."""
    cluster, node = cluster_and_node()
    if is_first_controller(cluster, node):
        rekey.stored(name="New munge key")
    barrier(name="The new key is created")
    if not is_first_controller(cluster, node):
        rekey.stored(name="New munge key", source=cluster.controllers[0].name)


def discard() -> None:
    """Remove the new key from a node that does not use it."""
    rekey.discarded(name="New munge key")


def replace() -> None:
    """Stop slurmctld everywhere, replace the key on all nodes at once, and start slurmctld.

    The backups stop before the first controller and start after it, so that none takes over.
    """
    cluster, node = cluster_and_node()
    controllers = [controller.name for controller in cluster.controllers]
    first = is_first_controller(cluster, node)
    backup = node.name in controllers and not first
    if backup:
        rekey.stopped(name="Backup controller stopped")
    barrier(name="The backup controllers are stopped")
    if first:
        rekey.stopped(name="Controller stopped")
    barrier(name="No slurmctld runs")
    rekey.replaced(name="Munge key", controllers=controllers)
    barrier(name="All nodes have the new key")
    if first:
        service.running(name="Controller started", unit="slurmctld")
    barrier(name="The controller runs")
    if backup:
        service.running(name="Backup controller started", unit="slurmctld")
    rekey.accepted(name="Munge credentials", by=controllers[0])
