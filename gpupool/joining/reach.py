"""Which other nodes must hear of one that joins or leaves, and which get to know it by a later apply."""

from collections import Counter
from collections.abc import Collection

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.system.exports import exports_for


def concerned(before: Cluster, after: Cluster) -> tuple[str, ...]:
    """Return the nodes that a joining or leaving node cannot do without, besides itself, in inventory order.

    Controllers, for slurmctld's list of nodes; and servers of exports whose lists of clients change with it: they
    refuse the mounts of an address that they do not know, and would go on giving to one that has left.
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
    """Return the files in which other nodes will differ until the next apply, and on how many nodes each.

    Names in /etc/hosts, mostly: Slurm goes by addresses, and has its own list from the controllers.
    """
    files: Counter[str] = Counter()
    for name, node in after.nodes.items():
        if name in done or name not in before.nodes or not node.managed:
            continue
        old = {file.path: file.text for file in files_for(before, before.nodes[name])}
        files.update(file.path for file in files_for(after, node) if old.get(file.path) != file.text)
    return dict(files)
