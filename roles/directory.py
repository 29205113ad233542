"""Users of a directory (LDAP, Active Directory), provided by sssd on each node. Only members of accounts can log in."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.directory import PASSWORD
from gpupool.compile.system.members import roster_for
from gpupool.compile.system.spaces import members_homes, skeleton
from gpupool.operations import directory, files, service
from gpupool.operations import homes as of_people
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On all nodes of a cluster whose users come from a directory."""
    return cluster.directory is not None


def has_homes(cluster: Cluster, node: Node) -> bool:
    """On nodes where homes of members are created."""
    return bool(members_homes(cluster, node))


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start sssd after the users of the inventory are created, and before any daemon looks up a user."""
    own = files_of(cluster, node, "directory")
    files.put(name="Directory", files=own)
    directory.asked(name="Name service", password=PASSWORD)
    service.running(name="Directory's client", unit="sssd", restart_if=[*(file.path for file in own), PASSWORD])


@where(applies)
def check_password(cluster: Cluster, node: Node) -> None:
    """Fail if the password of the directory is missing, which an admin installs; without it sssd finds no user."""
    if cluster.directory and cluster.directory.bind_dn:
        directory.has_password(name="Password of the directory", path=PASSWORD, dn=cluster.directory.bind_dn)


@where(has_homes)
def homes(cluster: Cluster, node: Node) -> None:
    """Create homes of members; late, because a path with another owner stops the later steps on this node."""
    roster = roster_for(cluster)
    if roster:
        of_people.of_members(
            name="Homes of members",
            paths=members_homes(cluster, node),
            roster=roster,
            mode=cluster.policies.home_mode or cluster.storage.home.mode,
            skeleton=skeleton(cluster),
        )
