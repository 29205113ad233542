"""The target of a command: the inventory's nodes, or its testbed on this machine."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpupool.engine.report import NodeHost
from gpupool.errors import TestbedError, UsageError
from gpupool.testbed import keys, state
from gpupool.testbed.state import State

if TYPE_CHECKING:
    from gpupool.cluster.model import Cluster
    from gpupool.cluster.node import Node
    from gpupool.cluster.schema.access import AdminSsh


@dataclass(frozen=True)
class Target:
    """The target of a command: a Cluster, and the pyinfra data for SSH to all of its nodes.

    `inventory` is the folder from which the Cluster was loaded.
    """

    cluster: "Cluster"
    testbed: State | None
    ssh: dict[str, Any]
    inventory: Path | None = None

    @property
    def where(self) -> str:
        """The target in a few words, for messages."""
        if self.testbed:
            machines = len(self.testbed.machines)
            count = f"{len(self.cluster.nodes) - machines} containers" + (
                f" and {machines} machines" if machines else ""
            )
            return f"testbed {self.testbed.name} ({count} on this machine)"
        return f"the nodes of {self.cluster.name}"

    @property
    def outdated(self) -> tuple[str, ...]:
        """The nodes of the testbed that do not fit the inventory until the next `testbed up`."""
        if self.testbed is None:
            return ()
        from gpupool.testbed.fit import outdated

        return outdated(self.cluster, self.testbed)

    @property
    def not_shown(self) -> tuple[str, ...]:
        """The parts of the inventory of which the testbed shows no change."""
        if self.testbed is None:
            return ()
        from gpupool.testbed.fit import not_shown

        return not_shown(self.cluster)

    @property
    def nodes(self) -> "tuple[Node, ...]":
        """The nodes to log in to, in inventory order."""
        return tuple(node for node in self.cluster.nodes.values() if node.managed and node.address)

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses to log in to, by node."""
        return {node.name: node.logged_in_at for node in self.nodes if node.logged_in_at}

    @property
    def admin(self) -> "AdminSsh":
        """How gpupool logs in."""
        return self.cluster.access.admin

    @property
    def environment(self) -> str:
        """Lines of sh before each script on a node: there, the site's own Slurm may be in no usual folder."""
        slurm = self.cluster.slurm
        if slurm.packages != "site":
            return ""
        path = "" if slurm.prefix == "/usr" else f"export PATH={slurm.prefix}/bin:{slurm.prefix}/sbin:$PATH\n"
        conf = slurm.file("slurm.conf")
        # a node without this file gets its configuration from slurmctld
        return f"{path}[ ! -f {conf} ] || export SLURM_CONF={conf}\n"

    @property
    def hosts(self) -> list[NodeHost]:
        """The nodes for the engine; a host's groups are its roles."""
        return [NodeHost(node.name, node.roles, self.data(node)) for node in self.nodes]

    def data(self, node: "Node") -> dict[str, Any]:
        """Return pyinfra's `host.data` of a node, for roles and the connector."""
        return {
            **self.ssh,
            "ssh_hostname": node.logged_in_at,
            "cluster": self.cluster,
            "node": node,
            "environment": self.environment,
        }


def find_target(inventory: Path, on: str = "auto") -> Target:
    """Load an inventory and return the target that `on` names; errors are those of `load` and `target_of`."""
    # imported here, because shell completion imports this module and loads no inventory
    from gpupool.cluster.load import load

    _parsed(on)
    return target_of(load(inventory), inventory, on)


def target_of(cluster: "Cluster", inventory: Path, on: str) -> Target:
    """Return the target that `on` names, of a loaded inventory.

    `auto` is the testbed if this inventory has one on this machine, so that no command changes real nodes by mistake;
    for the same reason it is a TestbedError if the testbed was removed, or could not be started.
    Other values are `testbed`, `testbed:NAME` and `nodes`; else UsageError. TestbedError without a usable testbed.
    """
    kind, name = _parsed(on)
    stands = None if kind == "nodes" else find_testbed(inventory, name or None)
    if stands is None:
        if kind == "testbed":
            raise TestbedError(
                f"no testbed of {inventory} on this machine: start one with `gpupool testbed up {inventory}`"
            )
        if kind == "auto" and state.was_tried(inventory):
            raise TestbedError(
                f"{inventory} has no testbed on this machine now, but had one or was to have one: start it with "
                f"`gpupool testbed up {inventory}`, or use --on nodes for the real nodes"
            )
        admin = cluster.access.admin
        ssh = {"ssh_user": admin.user_on_nodes, "ssh_port": admin.port_on_nodes}
        key = {"ssh_key": str(Path(admin.key).expanduser())} if admin.key else {}
        return Target(cluster, None, {**ssh, **key}, inventory)
    network = stands.network if stands.network != cluster.entry.network else None
    try:
        own = keys.public_path(Path(stands.key)).read_text().strip()
    except OSError as error:
        message = f"the key of testbed {stands.name} cannot be read ({error.strerror})"
        raise TestbedError(f"{message}: recreate it with `gpupool testbed up {inventory}`") from None
    from gpupool.testbed.overlay import stand_in
    from gpupool.testbed.spares import with_joined

    twin = stand_in(
        with_joined(cluster, stands.spares),
        cgroup=stands.cgroups,
        network=network,
        keys=(own,),
        machines=stands.machines,
    )
    ssh = {"ssh_user": "root", "ssh_port": 22, "ssh_key": stands.key, "ssh_known_hosts_file": stands.known_hosts}
    return Target(twin, stands, {**ssh, "ssh_allow_agent": False, "ssh_look_for_keys": False}, inventory)


def _parsed(on: str) -> tuple[str, str]:
    kind, _, name = on.partition(":")
    if kind not in ("auto", "testbed", "nodes") or (name and kind != "testbed"):
        raise UsageError(f"--on {on}: must be auto, testbed, testbed:NAME or nodes")
    return kind, name


def find_testbed(inventory: Path, name: str | None = None) -> State | None:
    """Return the newest testbed of an inventory on this machine; None without one."""
    made = state.made_from(inventory, name=name, prefix=os.environ.get("GPUPOOL_TESTBED_PREFIX"))
    return made[0] if made else None


def pyinfra_hosts(inventory: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the hosts for an inventory file of plain pyinfra; the variable GPUPOOL_ON replaces the option `--on`."""
    target = find_target(inventory, os.environ.get("GPUPOOL_ON", "auto"))
    return [(f"@pool/{host.name}", dict(host.data)) for host in target.hosts]
