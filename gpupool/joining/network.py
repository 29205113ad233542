"""The link speed of a node towards its fileservers, as its network card has negotiated it with the switch."""

import re
from collections.abc import Iterator, Sequence

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.errors import UsageError
from gpupool.remote.controller import Controller
from gpupool.shell import shell_file

_SCRIPT = shell_file(__package__, "network.sh")


def least_of(text: str | None) -> int | None:
    """Return the Mbit/s of a text like `10G` or `100M`; UsageError if it has another form."""
    if text is None:
        return None
    if not (match := re.fullmatch(r"([1-9][0-9]{0,5})([MG])", text)):
        raise UsageError(f"--network {text}: write 10G or 1000M")
    return int(match[1]) * (1000 if match[2] == "G" else 1)


def slow(controller: Controller, nodes: Sequence[Node], least: int) -> Iterator[str]:
    """Yield a message for each link that is slower than `least` Mbit/s or cannot be read."""
    cluster = controller.target.cluster
    for node in nodes:
        servers = servers_of(cluster, node)
        output = controller.output_on(node.name, "sh", "-c", _SCRIPT, "network", *servers) if servers else ""
        for line in output.splitlines():
            address, device, speed = line.split()
            if not speed.isdigit():
                yield f"{node.name}: cannot read the speed of {device} (towards {servers[address]})"
            elif int(speed) < least:
                yield f"{node.name}: {device} has {speed} Mbit/s towards {servers[address]}, less than {least}"


def servers_of(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the names of the servers whose exports a node mounts, by address."""
    mounts = [mount for mount in cluster.mounts if node.name in mount.clients and not mount.by_site]
    servers = [(cluster.nodes[mount.server], mount) for mount in mounts if mount.server in cluster.nodes]
    return {
        address: server.name
        for server, mount in servers
        if server != node and (address := server.addresses.get(mount.entry.network or "", server.address))
    }
