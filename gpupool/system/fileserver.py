"""Cluster to what runs by itself on a node with ZFS pools: snapshots, scrubs and the look at their health, as files."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.files import File
from gpupool.system.zfs import datasets_for, pools_for
from gpupool.zfs_timers import health_files, scrub_files, snapshot_files

ROLE = "fileserver"


def timers(cluster: Cluster, node: Node) -> Iterator[File]:
    """Return scripts, tables and units; none where a node has no pools."""
    if pools := pools_for(cluster, node):
        schedule = {it.name: it.snapshots for it in datasets_for(cluster, node) if it.snapshots}
        yield from snapshot_files(schedule, ROLE)
        yield from scrub_files({it.name: it.scrub for it in pools if it.scrub}, ROLE)
        yield from health_files([it.name for it in pools], ROLE)
