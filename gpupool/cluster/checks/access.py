"""Check logins (what sshd can do, gateways, first passwords), and the partitions that users are assigned."""

from collections.abc import Iterator
from datetime import date

from gpupool.cluster.complaints import Complaint, Path, dotted
from gpupool.cluster.near import misspelt
from gpupool.cluster.resolve.site import Site
from gpupool.distributions.tables import distributions

_NO_SHELL = ("/nologin", "/false")


def ensure_sshd_can_ask_slurm(site: Site) -> Iterator[Complaint]:
    """`compute_ssh: allocated` needs sshd's PAMServiceName, which OpenSSH has from 9.8 on, to select our PAM stack."""
    access = site.inventory.access
    for release, nodes in site.systems if access.compute_ssh == "allocated" else ():
        concerned = [node for node in nodes if "compute" in node.entry.roles]
        if concerned and not release.has_sshd_per_user_pam:
            message = f"the sshd of {release} cannot limit logins to users with a job"
            able = next(other.label for other in distributions().values() if other.has_sshd_per_user_pam)
            key = dotted(site.path_of_system(concerned[0]))
            yield Complaint(("access", "compute_ssh"), message, f"set none or open, or {key}: {able}")


def ensure_gateways_forward_to_nodes(site: Site) -> Iterator[Complaint]:
    """Each node in `gateway_forwards_to` exists, and a node has the role gateway."""
    names = site.inventory.access.gateway_forwards_to
    known = site.node_table.by_name
    for index, name in enumerate(names if site.node_table.whole else ()):
        if name not in known:
            near = misspelt(name, known)
            hint = f"did you mean {near[0]}?" if near else None
            yield Complaint(("access", "gateway_forwards_to", index), f"there is no node {name!r}", hint)
    if names and not any("gateway" in node.entry.roles for node in site.node_table.nodes):
        yield Complaint(("access", "gateway_forwards_to"), "no node has the role gateway")


def ensure_a_first_password_can_be_used(site: Site) -> Iterator[Complaint]:
    """A first password needs sshd to accept passwords."""
    for index, user in enumerate(site.inventory.users):
        if user.first_password and not site.inventory.access.password_login:
            path: Path = ("users", index, "first_password")
            yield Complaint(path, f"{user.name} could not log in with it", "set access.password_login: true")


def ensure_users_can_log_in(site: Site) -> Iterator[Complaint]:
    """A user has a key in the inventory, or the inventory has another login method: password, directory, access.keys.

    Users whose access has ended, and users without a shell, need none.
    """
    inventory, today = site.inventory, date.today()
    if inventory.access.password_login or inventory.access.keys != "inventory" or inventory.directory:
        return
    if site.roles_somewhere.isdisjoint(("people", "ssh")):  # logins are the site's
        return
    users = [(index, user) for index, user in enumerate(inventory.users)
             if not (user.until and user.until < today) and not user.shell.endswith(_NO_SHELL)]  # fmt: skip
    without = [(index, user) for index, user in users if not user.keys]
    others = "or access.password_login: true, or access.keys: homes if users or an admin fill ~/.ssh/authorized_keys"
    if without and len(without) == len(users):
        yield Complaint(("users",), "no user can log in: none has a key or a password", f"set keys of users, {others}")
        return
    for index, user in without:
        message = f"{user.name} cannot log in: no key, no password"
        yield Complaint(("users", index), message, f"set keys, {others}")


def ensure_users_may_use_their_partitions(site: Site) -> Iterator[Complaint]:
    """A user's partitions have `users: assigned`; a default partition with `users: assigned` is one of them."""
    assigned = {
        name: entry.users == "assigned" for _, entry in site.partitions() for name, _ in site.partition_names(entry)
    }
    for index, user in enumerate(site.inventory.users):
        for number, name in enumerate(user.partitions):
            if not assigned.get(name, True):
                message = f"all users may use {name}"
                path: Path = ("users", index, "partitions", number)
                yield Complaint(path, message, "remove it, or set users: assigned there", severity="warning")
        default = user.default_partition
        if default and assigned.get(default) and default not in user.partitions:
            message = f"{user.name} is not assigned to {default}"
            yield Complaint(("users", index, "default_partition"), message, f"add it: partitions: [{default}]")
