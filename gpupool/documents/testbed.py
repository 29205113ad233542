"""The documents of `testbed up`, `testbed down` and `testbed status`."""

from typing import Literal

from typing_extensions import TypedDict


class StateEntry(TypedDict):
    """A testbed after `up`; paths are absolute."""

    id: str
    """Its id: the prefix and the name."""
    name: str
    """Its name."""
    prefix: str
    """The prefix of the names of its containers."""
    inventory: str
    """The inventory."""
    network: str
    """Name of its network in Docker."""
    domain: str
    """The domain of its nodes."""
    suite: str
    """Debian's release, by the name of its suite."""
    cgroups: Literal["v1", "v2"]
    """The version of cgroups on this machine."""
    images: dict[str, str]
    """The image of each node."""
    nodes: dict[str, str]
    """The address of each node."""
    roles: dict[str, list[str]]
    """The roles of each node."""
    key: str
    """File with the private SSH key of its nodes."""
    known_hosts: str
    """File with the host keys."""
    ssh_config: str
    """Configuration of ssh, for `ssh -F`."""
    machines: list[str]
    """Nodes that are virtual machines."""
    shapes: dict[str, str]
    """Digest of the properties of each node that only another `up` changes."""
    spares: dict[str, str]
    """The address of each spare machine, for `onboard`."""


class UpDocument(TypedDict):
    """A testbed that is up."""

    state: StateEntry
    """The testbed."""
    created: list[str]
    """New nodes."""
    recreated: list[str]
    """Nodes that were replaced, because the inventory changed."""
    started: list[str]
    """Nodes that were stopped."""
    kept: list[str]
    """Nodes that ran already."""
    orphans: list[str]
    """Nodes that are no longer in the inventory, kept until `testbed down`."""
    failed_units: dict[str, list[str]]
    """Units of systemd that failed, by node."""
    warnings: list[str]
    """Warnings for people."""
    seconds: float
    """Duration, in seconds."""


class DownDocument(TypedDict):
    """A testbed that was removed."""

    testbed: str
    """Its id."""
    removed: list[str]
    """Names of the containers, networks and volumes that were removed."""


class NodeStatusEntry(TypedDict):
    """The state of one node."""

    name: str
    """The node."""
    address: str
    """Its address."""
    roles: list[str]
    """Its roles."""
    container: str
    """State of its container: `running`, `exited`, `missing`."""
    systemd: str
    """State of systemd: `running`, `degraded`, `starting`; `-` if it does not run."""
    ssh: bool
    """Whether SSH works."""
    failed_units: list[str]
    """Units of systemd that failed."""
    machine: bool
    """Whether it is a virtual machine."""
    ok: bool
    """Whether the node can be used."""


class StatusDocument(TypedDict):
    """The state of a testbed."""

    testbed: str
    """Its id."""
    network: str
    """Name of its network in Docker."""
    nodes: list[NodeStatusEntry]
    """The state of each node, in the order of the inventory."""
