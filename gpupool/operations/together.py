"""A place where all nodes wait for each other.

pyinfra sorts the operations of different hosts by how many stand before them on their own host, and by line only
among equals: a head node, which has little to do, would be told to find the controller before there is one. An
operation that every host has puts all that is above it before all that is below it.
"""

from gpupool.operations.ambient import this_host
from gpupool.operations.frame import operation


@operation
def barrier() -> None:
    """Have every host wait here for the others; to be called on every host, it changes nothing."""
    this_host().noop("all nodes have reached this stage")
