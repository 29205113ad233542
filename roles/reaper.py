"""Timers that end processes of users outside of jobs, and VS Code servers."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.reaper import kinds, units_of
from gpupool.operations import files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has such a timer."""
    return bool(kinds(cluster, node))


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the program and start its timers. Each run reads the settings, so they need no restart."""
    files.put(name="Reaper", files=files_of(cluster, node, "reaper"))
    here = kinds(cluster, node)
    # one call a line, because pyinfra identifies an operation by its line, and nodes have different timers
    if "strays" in here:
        timer = units_of("strays")[1]
        service.timer(name="Reaper timer", path=timer)
    if "vscode" in here:
        timer = units_of("vscode")[1]
        service.timer(name="VS Code timer", path=timer)
