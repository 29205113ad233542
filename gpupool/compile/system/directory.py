"""The client of a directory of people (LDAP): sssd's settings, certificates, and the program for users' ssh keys."""

from collections.abc import Iterator

from gpupool.cluster.attachments import CERTIFICATES
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import access
from gpupool.compile.template import fill
from gpupool.wanted import File

#: The directory's name in sssd.
DOMAIN = "directory"
SETTINGS = "/etc/sssd/sssd.conf"
#: The password of `bind_dn`: an admin writes it, and sssd reads it after its settings.
PASSWORD = "/etc/sssd/conf.d/gpupool-password.conf"
CERTIFICATE = "/etc/ssl/gpupool-directory.pem"
KEYS = "/usr/local/sbin/gpupool-directory-keys"
_DEBIANS_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Groups that sudo, polkit, sshd and device files trust by name, and users of daemons.
_SYSTEM_GROUPS = ("root", "sudo", "wheel", "admin", "adm", "disk", "shadow", "docker", "video", "render", "kvm", "lxd")
_SYSTEM_USERS = ("root", "slurm", "munge", "mysql", "sshd", "nobody", "daemon", "www-data", "systemd-network")


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the files of sssd and sshd; nothing without a directory."""
    directory = cluster.directory
    if directory is None:
        return
    if directory.tls_ca:
        yield File(CERTIFICATE, cluster.attached.get(f"{CERTIFICATES}/{directory.tls_ca}", ""))
    yield File(KEYS, fill("directory-keys", cluster=cluster), mode="0755")
    text = fill(
        "sssd.conf",
        cluster=cluster,
        directory=directory,
        domain=DOMAIN,
        password=PASSWORD,
        ca=CERTIFICATE if directory.tls_ca else _DEBIANS_CERTIFICATES,
        groups=groups_for(cluster),
        own_users=sorted({*_SYSTEM_USERS, *access.admins(cluster), *cluster.users}),
        own_groups=sorted({*_SYSTEM_GROUPS, access.ADMIN_GROUP, "people", *_own_groups(cluster)}),
        home=home_for(cluster, node).replace("%", "%%").replace("{user}", "%u"),
    )
    yield File(SETTINGS, text, mode=node.system.sssd_mode)


def groups_for(cluster: Cluster) -> list[str]:
    """Return the groups of the directory whose members may log in, in the order of the accounts."""
    if cluster.directory is None:
        return []
    return list(
        dict.fromkeys(account.entry.members_from for account in cluster.accounts.values() if account.entry.members_from)
    )


def home_for(cluster: Cluster, node: Node) -> str:
    """Return the path of a home with {user} in it; a local one where the homes are not mounted."""
    shared = cluster.home_export
    has_homes = shared is None or node.name in shared.clients
    return cluster.storage.home.path if has_homes else "/home/{user}"


def _own_groups(cluster: Cluster) -> Iterator[str]:
    # An account's group may have the name of a group of the directory: then both are one, and sssd must not filter it.
    yield from (
        account.name
        for account in cluster.accounts.values()
        if account.entry.gid and account.name not in groups_for(cluster)
    )
