"""The nodes that users may log in to by SSH: always, with a job there, or never."""

from typing import Literal

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node

Entry = Literal["all", "job", "admins"]


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
