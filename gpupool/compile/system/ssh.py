"""sshd's settings: who may log in, which variables a client may send, agents; and nodes' names in known hosts."""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster import logins
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import access, directory
from gpupool.compile.template import fill
from gpupool.wanted import File

#: Hosts that sshd trusts to state their users (host-based authentication).
TRUSTED_HOSTS = "/etc/ssh/shosts.equiv"
SETTINGS = "/etc/ssh/sshd_config.d/gpupool.conf"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the PAM stack that sshd's drop-in names, the drop-in, and the files of host-based log-in."""
    yield from access.pam(cluster, node)
    yield File(SETTINGS, settings(cluster, node))
    if cluster.access.host_based and node.has("compute"):
        yield File(TRUSTED_HOSTS, _trusted(cluster))
    if cluster.access.host_based and node.has("head"):
        yield File("/etc/ssh/ssh_config.d/gpupool.conf", fill("ssh.conf", cluster=cluster))


def settings(cluster: Cluster, node: Node) -> str:
    """Return the text of a node's drop-in of sshd."""
    accept = cluster.environment.accept_env
    return _text(
        cluster,
        accept.names if accept and node.name in cluster.select(accept.where) else (),
        logins.entry(cluster, node),
        access.forwards_to(cluster, node),
        cluster.access.host_based and node.has("compute"),
        node.system.has_sshd_penalties,
    )


def tried_users(cluster: Cluster) -> list[str]:
    """Return users for whom sshd's settings are compared: root, and a user, because a `Match` may tell them apart."""
    return ["root", *list(cluster.users)[:1]]


def _trusted(cluster: Cluster) -> str:
    # sshd compares the address.
    names = (name for node in cluster.having("head") for name in (node.address, node.name, node.fqdn) if name)
    further = (name for node in cluster.having("head") for name in node.known_as if node.addresses)
    return "".join(f"{name}\n" for name in dict.fromkeys((*names, *further)))


@lru_cache(maxsize=4)
def names_of_nodes(cluster: Cluster) -> dict[str, str]:
    """Return all names of each node as one field of known hosts: name,name.domain,address, and those in networks."""
    return {node.name: ",".join(node.known_as) for node in cluster.nodes.values() if node.all_addresses}


@lru_cache(maxsize=16)
def _text(
    cluster: Cluster,
    names: tuple[str, ...],
    entry: logins.Entry,
    forwards_to: tuple[str, ...],
    trusts_heads: bool,
    penalises: bool,
) -> str:
    return fill(
        "sshd.conf",
        cluster=cluster,
        accept_env=names,
        service=access.SERVICE if entry == "job" else None,
        admins=access.admins(cluster),
        group=access.ADMIN_GROUP,
        only_admins=entry == "admins",
        forwards_to=forwards_to,
        trusts_heads=trusts_heads,
        keys=directory.KEYS if cluster.directory else None,
        never_penalised=_own_networks(cluster) if penalises else [],
    )


def _own_networks(cluster: Cluster) -> list[str]:
    return list(dict.fromkeys((*cluster.networks, *cluster.access.admin.networks)))
