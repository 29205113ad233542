"""The environment of jobs on a node: variables, a private /tmp, and /dev/shm without files of earlier jobs."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.jobs import directories
from gpupool.compile.system.sessions import watched_of_jobs
from gpupool.operations import files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes that run jobs."""
    return node.has("compute")


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install prolog and epilog before slurm.conf names them: slurmd would drain the node without them."""
    if tops := directories(cluster, node):
        files.put(name="Directories of jobs", directories=tops)
    if own := files_of(cluster, node, "jobs"):
        files.put(name="Programs around jobs", files=own)
    if paths := watched_of_jobs(cluster, node):
        service.running(
            name="Memory of jobs",
            unit="systemd-logind",
            enabled=None,
            reload_if=paths,
            reload_command=service.READ_SHARES,
        )
