"""Container images that a timer fetches on nodes."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.images import LIST, PROGRAM, SERVICE, TIMER, images_for
from gpupool.operations import files, service
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has images."""
    return bool(images_for(cluster, node))


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start the timer, which fetches the images in the background, so that an apply does not wait for gigabytes."""
    own = files_of(cluster, node, "images")
    files.put(name="Images", files=own)
    if own:
        service.running(name="Images timer", unit=TIMER.rpartition("/")[2], restart_if=[TIMER, SERVICE, PROGRAM, LIST])
