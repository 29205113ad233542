"""gpupool's commands for users of a cluster, such as `sbash` and `gpu_usage`."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.programs import HOME
from gpupool.compile.system.tools import SERVICE_UNIT, SOCKET_UNIT, shares_queue
from gpupool.operations import files, service
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has commands."""
    return any(files_of(cluster, node, "tools"))


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the commands, and start the queue's socket, which starts its service on demand."""
    own = files_of(cluster, node, "tools")
    files.put(name="Tools", files=own)
    if shares_queue(cluster, node):
        program = [file.path for file in own if file.path.startswith(f"{HOME}/")]
        service.running(
            name="Queue socket",
            unit=SOCKET_UNIT.rpartition("/")[2],
            restart_if=[SOCKET_UNIT, SERVICE_UNIT, *program],
        )
