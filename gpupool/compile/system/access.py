"""Access to nodes by SSH: for all users, for users with a job on the node, or for admins alone."""

from collections.abc import Iterator

from gpupool.cluster.logins import entry
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.template import fill
from gpupool.wanted import File

#: The PAM service that sshd's drop-in selects (PAMServiceName), and its file.
SERVICE = "gpupool-sshd"
PAM = f"/etc/pam.d/{SERVICE}"
#: Members of this group on the node are admins, too; it is Debian's group for sudo.
ADMIN_GROUP = "sudo"


def admins(cluster: Cluster) -> tuple[str, ...]:
    """Return the users who may log in on every node, besides members of the admins' group."""
    return tuple(dict.fromkeys(("root", cluster.access.admin.user_on_nodes)))


def forwards_to(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the sshds, as HOST:PORT, to which users may open tunnels from a gateway; empty if none are set."""
    if not node.has("gateway"):
        return ()
    nodes = [cluster.nodes[name] for name in cluster.access.gateway_forwards_to if name in cluster.nodes]
    names = dict.fromkeys(name for node in nodes for name in node.known_as)
    return tuple(f"{name}:{cluster.access.admin.port_on_nodes}" for name in names)


def pam(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the PAM stack that asks Slurm whether a user has a job on the node, if that is required."""
    if entry(cluster, node) == "job":
        # pam_slurm_adopt uses the host name if no node name is set.
        name = node.slurm_name if node.slurm_name != node.name else None
        values = {"service": SERVICE, "admins": admins(cluster), "group": ADMIN_GROUP, "node": name}
        yield File(PAM, fill("gpupool-sshd", cluster=cluster, **values))
