"""Limits of users' sessions: open files, and on heads a share of CPU, memory and processes."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.sessions import watched
from gpupool.operations import files, service
from gpupool.roles import everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the limits that the inventory has, if any. No session is ended."""
    if own := files_of(cluster, node, "sessions"):
        files.put(name="Sessions", files=own)
    if paths := watched(cluster, node):
        service.running(
            name="Shares of users",
            unit="systemd-logind",
            enabled=None,
            reload_if=paths,
            reload_command=service.READ_SHARES,
        )
