"""Users and groups of a node."""

from datetime import timedelta

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import docker
from gpupool.unix import PEOPLE_GID
from gpupool.wanted import User


def groups_for(cluster: Cluster) -> dict[str, int]:
    """Return every Unix group: one for each account with a gid, and `people` for users of accounts without."""
    groups = {account.name: account.entry.gid for account in cluster.accounts.values() if account.entry.gid}
    if any(user.gid is None for user in cluster.users.values()):
        groups["people"] = PEOPLE_GID
    return groups


def people_for(cluster: Cluster, node: Node) -> list[User]:
    """Return the users of a node, with a local home where the homes are not mounted."""
    shared = cluster.home_export
    has_homes = shared is None or node.name in shared.clients
    return [
        User(
            name=user.name,
            uid=user.uid,
            group=user.account if user.gid else "people",
            groups=(*cluster.groups_of(user)[1:], *((docker.GROUP,) if docker.is_member(cluster, node, user) else ())),
            home=user.home if has_homes else f"/home/{user.name}",
            shell=user.entry.shell,
            comment=user.entry.full_name or "",
            ends=(user.entry.until + timedelta(days=1)).isoformat() if user.entry.until else "",
        )
        for user in cluster.users.values()
    ]


def managed_groups(cluster: Cluster) -> list[str]:
    """Return the groups from which gpupool removes users of the inventory, unless the inventory has them as members."""
    accounts = [name for name, account in cluster.accounts.items() if account.entry.gid]
    return [*accounts, *([docker.GROUP] if cluster.software.docker else [])]
