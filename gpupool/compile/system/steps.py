"""The service on compute nodes that ends steps which keep their node from starting jobs."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.template import fill
from gpupool.unix import UNITS
from gpupool.wanted import File

UNIT = f"{UNITS}/gpupool-steps.service"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the program and its unit, on compute nodes."""
    if node.has("compute"):
        yield from program("steps")
        walled = not cluster.drivers.contained(node.name)
        yield File(UNIT, fill("steps.service", cluster=cluster, home=HOME, walled=walled))
