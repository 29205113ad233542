"""A barrier at which all nodes wait for each other.

pyinfra sorts the operations of different hosts by their number of predecessors on their own host, and only then by
line. So a head node, which has few operations, would use the controller before the controller exists. An operation that
every host has separates all operations before it from all after it.
"""

from gpupool.operations.ambient import this_host
from gpupool.operations.frame import operation


@operation
def barrier() -> None:
    """Wait for all other hosts; call it on every host. It changes nothing."""
    this_host().noop("all nodes have reached this stage")
