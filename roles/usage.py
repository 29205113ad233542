"""Nightly timers on storage: count usage, remove old files, list directories that do not belong."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.usage import TIMERS
from gpupool.operations import files, service
from gpupool.roles import apart, everywhere, where

applies = everywhere


@apart
@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the program and start the timers that the inventory has."""
    own = files_of(cluster, node, "usage")
    paths = [file.path for file in own]
    if own:
        files.put(name="Usage", files=own)
    # one call a line, because pyinfra identifies an operation by its line, and nodes have different timers
    if (timer := TIMERS["count"]) in paths:
        service.timer(name="Usage timer", path=timer)
    if (timer := TIMERS["purge"]) in paths:
        service.timer(name="Purge timer", path=timer)
    if (timer := TIMERS["audit"]) in paths:
        service.timer(name="Audit timer", path=timer)
