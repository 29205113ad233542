"""slurmd, on nodes that run jobs. It gets its configuration from the controllers."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.names import SLURMCTLD_PORT, servers
from gpupool.compile.system.slurmd import FOLDERS_CONF
from gpupool.operations import answers, files, slurm_daemon
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes that run jobs."""
    return node.has("compute")


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start slurmd after all other daemons. A restart does not affect running jobs."""
    own = files_of(cluster, node, "compute")
    files.put(name="Node daemon settings", files=own, read_by="slurmd.service")
    # a file that only matters at the next boot needs no restart
    settings = [file.path for file in own if file.path != FOLDERS_CONF]
    answers.server_required(
        name="A controller", unit="slurmd", servers=servers(cluster), port=SLURMCTLD_PORT, what="controller"
    )
    slurm_daemon.running(name="Slurm node daemon", unit="slurmd", version=cluster.slurm.version, restart_if=settings)
