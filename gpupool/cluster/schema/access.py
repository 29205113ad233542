"""The logins that nodes accept, of users and of gpupool."""

import ipaddress
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gpupool.cluster.quote import quoted
from gpupool.cluster.schema.base import Entry, Flag, Name, NetworkName, SourcedEntry, Word
from gpupool.cluster.schema.machines import Role


def _network(text: str) -> str:
    try:
        ipaddress.IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not an IPv4 network: {error}; write 10.8.0.0/16") from None
    return text


Network = Annotated[str, Field(strict=True), AfterValidator(_network)]


class AdminSsh(Entry):
    """How gpupool logs in to nodes."""

    user: Name | None = Field(None, description="Login name; default: that of ~/.ssh/config, else root.")
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = Field(
        None, description="Port of sshd; default: that of ~/.ssh/config, else 22."
    )
    key: Word | None = Field(
        None,
        description="Path of the private key on the admin's machine; default: that of ~/.ssh/config, else "
        "the keys of the SSH agent.",
    )
    network: NetworkName | None = Field(
        None,
        description="A network of cluster.networks, at whose addresses gpupool logs in; nodes without one there: at "
        "their `address`. Default: cluster.network.",
    )
    networks: tuple[Network, ...] = Field(
        (),
        description="Networks outside of the cluster's that admins log in from: all nodes accept SSH from them.",
    )

    @property
    def user_on_nodes(self) -> str:
        """Return the login name that nodes accept; it does not depend on an admin's ~/.ssh/config."""
        return self.user or "root"

    @property
    def port_on_nodes(self) -> int:
        """Return the port that firewalls of nodes accept, in addition to 22."""
        return self.port or 22


class Access(SourcedEntry):
    """The logins that each kind of node accepts."""

    admin: AdminSsh = Field(default_factory=AdminSsh, description="How gpupool logs in to nodes.")
    compute_ssh: Literal["open", "allocated", "none"] = Field(
        "allocated", description="Users on compute nodes: always, only with a running job there, never."
    )
    fileserver_ssh: Literal["open", "admins"] = Field("admins", description="Users on fileservers: always, never.")
    controller_ssh: Literal["open", "admins"] = Field(
        "admins", description="Users on controllers and the database's node: always, never."
    )
    password_login: Flag = Field(False, description="Users may log in with a password; default: only with keys.")
    keys: Literal["inventory", "homes", "site"] = Field(
        "inventory",
        description=(
            "How users without password prove who they are: by `users[].keys`; by keys that already are in their "
            "homes' ~/.ssh/authorized_keys, or that an admin adds there; by a method that the site adds to sshd, such "
            "as Kerberos or a certificate authority."
        ),
    )
    host_based: Flag = Field(
        False,
        description="Users on a head log in to compute nodes by host-based authentication, without password or key.",
    )
    agent_forwarding: Flag = Field(False, description="sshd forwards users' SSH agents; default: no.")
    outside: tuple[Literal[Role, "vpn"], ...] = Field(
        (),
        description=(
            "Roles that can be reached from outside of cluster.network, or `vpn`; all other nodes refuse new "
            "connections from there. Default: no node refuses any."
        ),
    )
    vpn: tuple[Network, ...] = Field((), description="Address ranges of the VPN's clients.")
    gateway_forwards_to: tuple[Name, ...] = Field(
        (), description="Nodes that users on a gateway may log in to; default: all."
    )
    other_groups: tuple[Name, ...] = Field(
        (), description="Unix groups that gpupool does not create, such as a directory's; for partitions.allow_groups."
    )
