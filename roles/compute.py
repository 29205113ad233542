"""slurmd: a node that runs jobs. It asks the controllers for its configuration."""

from gpupool.cluster.model import Cluster, Node
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
    """Last of all daemons; a restart leaves running jobs alone."""
    own = files_of(cluster, node, "compute")
    files.put(name="Node daemon settings", files=own, read_by="slurmd.service")
    # what is only for the next boot is no reason to restart
    settings = [file.path for file in own if file.path != FOLDERS_CONF]
    answers.server_required(
        name="A controller", unit="slurmd", servers=servers(cluster), port=SLURMCTLD_PORT, what="controller"
    )
    slurm_daemon.running(name="Slurm node daemon", unit="slurmd", version=cluster.slurm.version, restart_if=settings)
