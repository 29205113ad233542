"""The present state of a testbed, read-only: docker's state, systemd's state, and whether SSH works."""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpupool.documents.testbed import NodeStatusEntry
from gpupool.errors import TestbedError, UsageError
from gpupool.shell import shell_file
from gpupool.testbed import docker, dockerd
from gpupool.testbed import state as kept
from gpupool.testbed.parallel import parallel
from gpupool.testbed.spec import LABEL, NODE_LABEL
from gpupool.testbed.state import State

PROBE = shell_file(__package__, "look.sh")


@dataclass(frozen=True)
class NodeStatus:
    """The state of one node: docker's state of the container, systemd's of the system, and whether SSH works."""

    name: str
    address: str
    roles: tuple[str, ...]
    container: str
    systemd: str
    ssh: bool
    failed_units: tuple[str, ...] = ()
    machine: bool = False

    @property
    def ok(self) -> bool:
        """Return whether the node can be used; failed or slow services are the cluster's problem, not the testbed's."""
        return self.container == "running" and self.ssh and self.systemd in ("running", "degraded", "starting")

    def as_dict(self) -> NodeStatusEntry:
        """Return the state as plain data, with `ok`."""
        return {
            "name": self.name,
            "address": self.address,
            "roles": list(self.roles),
            "container": self.container,
            "systemd": self.systemd,
            "ssh": self.ssh,
            "failed_units": list(self.failed_units),
            "machine": self.machine,
            "ok": self.ok,
        }


def status(testbed: str) -> list[NodeStatus]:
    """Return the present state of each node of a testbed, in inventory order."""
    state = kept.load(testbed)
    dockerd.ensure(may_install=False)
    existing = standing(testbed)

    def look(name: str) -> NodeStatus:
        roles = tuple(state.roles.get(name, ()))
        word = existing[name]["State"]["Status"] if name in existing else "missing"
        if word != "running":
            return NodeStatus(name, state.nodes[name], roles, word, "-", False)
        if name in state.machines:
            probe = over_ssh(Path(state.ssh_config), name)
            lets_in = bool(probe.host_key)
        else:
            seen = docker.attempt(["exec", f"{testbed}-{name}", "/bin/sh", "-c", PROBE], timeout=30)
            probe = read(seen.stdout)
            lets_in = _lets_in(state, name)
        return NodeStatus(
            name,
            state.nodes[name],
            roles,
            word,
            probe.system,
            lets_in,
            probe.failed_units,
            name in state.machines,
        )

    return parallel(look, list(state.nodes))


def standing(testbed: str) -> dict[str, dict[str, Any]]:
    """Return `docker inspect` of each existing container, by the node's name."""
    names = docker.labelled("container", f"{LABEL}={testbed}")
    entries = docker.inspect("container", names).values()
    labels = [(entry["Config"]["Labels"], entry) for entry in entries]
    return {label[NODE_LABEL]: entry for label, entry in labels if NODE_LABEL in label}


@dataclass(frozen=True)
class ProbeResult:
    """The result of the probe: public host key, whether sshd runs, systemd's state (`-`: none yet), failed units."""

    host_key: str
    sshd: bool
    system: str
    failed_units: tuple[str, ...]


def read(text: str) -> ProbeResult:
    """Return the result of the probe from its output; a node at the start of its boot prints few lines."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    key = next((line for line in lines if line.startswith("ssh-")), "")
    sshd, system, *units = [*(line for line in lines if not line.startswith("ssh-")), "-", "-"][: max(2, len(lines))]
    return ProbeResult(key, sshd == "active", system, tuple(unit for unit in units if unit != "-"))


def over_ssh(config: Path, name: str, seconds: float = 40.0) -> ProbeResult:
    """Return the result of the probe over SSH; an empty one if SSH does not work within `seconds`."""
    command = ["ssh", "-F", str(config), "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", name, PROBE]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return read("")
    return read(done.stdout)


def ssh_command(state: State, node: str, user: str = "root", command: Sequence[str] = ()) -> list[str]:
    """Return the ssh command line for a node of this testbed, which checks the host key."""
    if node not in state.nodes:
        raise UsageError(f"testbed {state.id} has no node {node}: it has {', '.join(state.nodes)}")
    if not shutil.which("ssh"):
        raise TestbedError("ssh is not installed: apt-get install openssh-client")
    if not Path(state.ssh_config).exists():
        raise TestbedError(f"testbed {state.id} was only partly started: run gpupool testbed up again")
    return ["ssh", "-F", state.ssh_config, "-l", user, node, *(["--", *command] if command else [])]


def _lets_in(state: State, name: str) -> bool:
    if not Path(state.ssh_config).exists():  # up was interrupted
        return False
    command = [*ssh_command(state, name)[:-1], "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", name, "true"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
