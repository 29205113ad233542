"""Ends processes that users have left where they should not be: outside of jobs, and VS Code's servers."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.reaper import kinds, units_of
from gpupool.operations import files, service
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """Where the inventory has something to end."""
    return bool(kinds(cluster, node))


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """A program and its timers; a run reads its settings itself."""
    files.put(name="Reaper", files=files_of(cluster, node, "reaper"))
    here = kinds(cluster, node)
    # one call a line: nodes have different ones, and pyinfra knows an operation by the line that calls it
    if "strays" in here:
        timer = units_of("strays")[1]
        service.timer(name="Reaper timer", path=timer)
    if "vscode" in here:
        timer = units_of("vscode")[1]
        service.timer(name="VS Code timer", path=timer)
