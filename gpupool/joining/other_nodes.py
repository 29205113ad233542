"""The other nodes to apply when a node joins or leaves: some at once, the rest with a later apply."""

from collections import Counter
from collections.abc import Collection

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.system.exports import exports_for


def concerned(before: Cluster, after: Cluster) -> tuple[str, ...]:
    """Return the other nodes to apply at once when a node joins or leaves, in inventory order.

    These are the controllers, for slurmctld's list of nodes, and fileservers whose lists of clients change: they refuse
    mounts from unknown addresses, and would continue to serve a node that has left.
    """
    servers = {mount.server for mount in (*before.mounts, *after.mounts)}
    changed = {
        name
        for name in servers
        if name in before.nodes
        and name in after.nodes
        and exports_for(before, before.nodes[name]) != exports_for(after, after.nodes[name])
    }
    controllers = {node.name for node in after.controllers}
    return tuple(node.name for node in after.nodes.values() if node.managed and node.name in (controllers | changed))


def later(before: Cluster, after: Cluster, done: Collection[str]) -> dict[str, int]:
    """Return the files that differ on other nodes until the next apply, with the number of nodes.

    These are mostly names in /etc/hosts; Slurm uses addresses, and its list of nodes comes from the controllers.
    """
    files: Counter[str] = Counter()
    for name, node in after.nodes.items():
        if name in done or name not in before.nodes or not node.managed:
            continue
        old = {file.path: file.text for file in files_for(before, before.nodes[name])}
        files.update(file.path for file in files_for(after, node) if old.get(file.path) != file.text)
    return dict(files)
