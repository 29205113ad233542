"""Users and groups, with the same numbers on every node."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.access import admins
from gpupool.compile.system.people import groups_for, managed_groups, people_for
from gpupool.operations import departed, users
from gpupool.roles import everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Create users before associations in slurmdbd: an association loaded without a uid never becomes active."""
    users.groups(name="Groups", wanted=groups_for(cluster))
    users.users(name="Users", wanted=people_for(cluster, node), managed_groups=managed_groups(cluster))
    departed.users(
        name="Users who have left",
        wanted=[*cluster.users, *admins(cluster)],
        groups=managed_groups(cluster),
    )
