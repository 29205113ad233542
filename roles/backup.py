"""Nightly backups of the accounting database and of slurmctld's state."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.backup import TIMER, folder, kinds
from gpupool.operations import files, service
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes with a database or state to back up."""
    return bool(kinds(cluster, node))


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the program and its timer, and create the directory, which only root can read."""
    place = folder(cluster)
    files.put(name="Backup", files=files_of(cluster, node, "backup"), directories=[place] if place else [])
    service.timer(name="Backup timer", path=TIMER)
