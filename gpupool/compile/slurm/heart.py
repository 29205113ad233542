"""The nodes that hold a cluster together: its controllers, its database, and all nodes with a part of Slurm."""

from gpupool.cluster.model import Cluster
from gpupool.wanted import Heart


def heart_of(cluster: Cluster) -> Heart:
    """Return the nodes of a cluster without which it cannot run."""
    first = cluster.controllers[0]
    state = cluster.slurm.state
    return Heart(
        cluster=cluster.entry.name,
        controllers=[node.name for node in cluster.controllers],
        addresses=[address for node in cluster.controllers for address in node.all_addresses],
        database=cluster.database.name,
        nodes=[node.name for node in cluster.nodes.values() if node.runs_slurm],
        state=state,
        mount=next((mount.at for mount in cluster.mounts if mount.holds(state) and first.name in mount.nodes), ""),
    )
