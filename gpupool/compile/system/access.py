"""Access to nodes by SSH: for all users, for users with a job on the node, or for admins alone."""

from collections.abc import Iterator
from typing import Literal

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.template import fill
from gpupool.wanted import File

Entry = Literal["all", "job", "admins"]
#: The PAM service that sshd's drop-in selects (PAMServiceName), and its file.
SERVICE = "gpupool-sshd"
PAM = f"/etc/pam.d/{SERVICE}"
#: Members of this group on the node are admins, too; it is Debian's group for sudo.
ADMIN_GROUP = "sudo"


def entry(cluster: Cluster, node: Node) -> Entry:
    """Return who may log in to a node by SSH; roles with users (head, gateway, compute) take precedence."""
    access = cluster.access
    if node.has("head", "gateway"):
        return "all"
    if node.has("compute"):
        return {"open": "all", "allocated": "job", "none": "admins"}[access.compute_ssh]  # type: ignore[return-value]
    closed = {
        "fileserver": access.fileserver_ssh,
        **dict.fromkeys(("controller", "backup-controller", "database"), access.controller_ssh),
    }
    return "admins" if any(closed.get(role) == "admins" for role in node.roles) else "all"


def admins(cluster: Cluster) -> tuple[str, ...]:
    """Return the users who may log in on every node, besides members of the admins' group."""
    return tuple(dict.fromkeys(("root", cluster.access.admin.user_on_nodes)))


def forwards_to(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return the sshds, as HOST:PORT, to which users may open tunnels from a gateway; empty if none are set."""
    if not node.has("gateway"):
        return ()
    nodes = [cluster.nodes[name] for name in cluster.access.gateway_forwards_to if name in cluster.nodes]
    names = dict.fromkeys(name for node in nodes for name in (node.name, node.fqdn, node.address) if name)
    return tuple(f"{name}:{cluster.access.admin.port_on_nodes}" for name in names)


def pam(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the PAM stack that asks Slurm whether a user has a job on the node, if that is required."""
    if entry(cluster, node) == "job":
        # pam_slurm_adopt uses the host name if no node name is set.
        name = node.slurm_name if node.slurm_name != node.name else None
        values = {"service": SERVICE, "admins": admins(cluster), "group": ADMIN_GROUP, "node": name}
        yield File(PAM, fill("gpupool-sshd", cluster=cluster, **values))
