"""A head node: users log in and submit jobs. Slurm's commands get their configuration from the controller."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.names import SLURMCTLD_PORT, servers
from gpupool.operations import answers, files, service
from gpupool.roles import where
from gpupool.slurm.releases import has


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes where users log in."""
    return node.has("head")


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start sackd, which keeps the configuration up to date; releases of Slurm without it get slurm.conf as a file."""
    own = files_of(cluster, node, "head")
    files.put(name="Slurm client settings", files=own)
    if has(cluster.slurm.version, "sackd"):
        answers.server_required(
            name="A controller", unit="sackd", servers=servers(cluster), port=SLURMCTLD_PORT, what="controller"
        )
        service.running(name="Slurm client daemon", unit="sackd", restart_if=[file.path for file in own])
