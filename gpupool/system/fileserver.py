"""Files of a fileserver: its exports, and what looks after its ZFS pools."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.system import exports
from gpupool.system.zfs import datasets_for, pools_for
from gpupool.system.zfs_timers import health_files, scrub_files, snapshot_files
from gpupool.wanted import File


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield all of them."""
    yield from exports.files(cluster, node)
    yield from timers(cluster, node)


def timers(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield what takes snapshots, scrubs pools and looks at their health; nothing where a node has no pools."""
    if pools := pools_for(cluster, node):
        schedule = {it.name: it.snapshots for it in datasets_for(cluster, node) if it.snapshots}
        yield from snapshot_files(schedule)
        yield from scrub_files({it.name: it.scrub for it in pools if it.scrub})
        yield from health_files([it.name for it in pools])
