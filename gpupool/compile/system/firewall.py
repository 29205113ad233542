"""A node's table of nftables: ports and nodes that are closed to the outside, and bounds of connections.

Other tables are not touched.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, collapse_addresses

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.names import SLURM_PORTS
from gpupool.compile.system.web import PORT, serves
from gpupool.compile.template import fill
from gpupool.unix import SYSTEMD_UIDS, UNITS
from gpupool.wanted import File

TABLE = "gpupool"
RULES = "/etc/gpupool/firewall.nft"
UNIT = f"{UNITS}/gpupool-firewall.service"
EVERYWHERE = (IPv4Network("0.0.0.0/0"),)
#: Open connections of a user from a node to sshd of one node, and to one daemon of Slurm there. More would let one user
#: take all connections of sshd (MaxStartups) or of slurmctld from others.
USER_TO_SSHD = 20
USER_TO_SLURM = 20
#: The same from a node to sshd, or to one daemon of Slurm, of all nodes in sum.
USER_IN_SUM = 2000
#: Open connections to a daemon of Slurm, or to nginx, from one address; all users of a node share its address. More
#: would let one machine take nginx's 768 connections of each worker from others.
SOURCE_TO_SERVER = 200
#: UIDs without a bound: root and the system's users (below UID_MIN of login.defs(5)), and those of systemd, among which
#: is Debian's slurm, 64030.
UNBOUND_UIDS = ("0-999", f"{SYSTEMD_UIDS.start}-{SYSTEMD_UIDS[-1]}")

Networks = tuple[IPv4Network, ...]


@dataclass(frozen=True)
class Rules:
    """The new connections that a node refuses by their source; existing connections are never affected.

    `ssh` are sshd's ports, `ssh_from` the networks that may use them, without `ssh_never`. `ports` is a range of TCP
    ports (None: none), and `ports_from` the networks that may use them. `others_from` is for all other ports of TCP and
    UDP.
    """

    ssh: tuple[int, ...]
    ssh_from: Networks
    ssh_never: Networks
    ports: tuple[int, int] | None
    ports_from: Networks
    others_from: Networks

    def lets_in(self, address: IPv4Address, port: int) -> bool:
        """Return whether a new TCP connection from an address to a port is accepted."""
        if port in self.ssh:
            return _holds(self.ssh_from, address) and not _holds(self.ssh_never, address)
        first, last = self.ports or (1, 0)
        return _holds(self.ports_from if first <= port <= last else self.others_from, address)

    @property
    def limited(self) -> dict[str, Networks]:
        """The fields that are not open to everywhere, name to networks."""
        fields = {"ssh_from": self.ssh_from, "ports_from": self.ports_from, "others_from": self.others_from}
        limited = {name: networks for name, networks in fields.items() if networks != EVERYWHERE}
        return limited | ({"ssh_never": self.ssh_never} if self.ssh_never else {})


def rules(cluster: Cluster, node: Node) -> Rules:
    """Return the rules of a node, even if they refuse nothing."""
    return _rules(cluster, is_closed(cluster, node), _gateways(cluster, node), _ports(cluster, node))


@lru_cache(maxsize=64)
def _rules(cluster: Cluster, closed: bool, gateways: tuple[str, ...], ports: tuple[int, int] | None) -> Rules:
    """Return the rules that all nodes with the same arguments share.

    `closed` is what `is_closed` returns, `gateways` are addresses from which a node refuses SSH, `ports` are dev_ports.
    """
    access = cluster.access
    vpn = [IPv4Network(network) for network in access.vpn]
    others = collapsed([*_inside(cluster), *(vpn if "vpn" in access.outside else [])]) if closed else EVERYWHERE
    admins = [IPv4Network(network) for network in access.admin.networks]
    open_to = cluster.policies.dev_ports.open_to if cluster.policies.dev_ports else "all"
    # If the inventory does not have the VPN's networks, only the site can restrict these ports to the VPN.
    everybody = ports is None or open_to == "all" or (open_to == "vpn" and not vpn)
    return Rules(
        ssh=tuple(sorted({22, access.admin.port_on_nodes})),
        ssh_from=collapsed([*others, *admins]),
        ssh_never=without(map(IPv4Network, gateways), admins),
        ports=ports,
        ports_from=EVERYWHERE if everybody else collapsed([*_inside(cluster), *(vpn if open_to == "vpn" else [])]),
        others_from=others,
    )


def is_closed(cluster: Cluster, node: Node) -> bool:
    """Return whether a node refuses connections from outside: `access.outside` is set, without a role of the node."""
    access = cluster.access
    if not access.outside or ("vpn" in access.outside and not access.vpn):
        return False
    return not node.has(*access.outside)


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the table and the unit that loads it."""
    yield File(RULES, _text(cluster, rules(cluster, node), serves(cluster, node)))
    yield File(UNIT, fill("firewall.service", cluster=cluster, rules=RULES, table=TABLE))


def collapsed(networks: Iterable[IPv4Network]) -> Networks:
    """Return the same addresses in as few networks as possible, in their order."""
    return tuple(collapse_addresses(networks))


def without(networks: Iterable[IPv4Network], others: Iterable[IPv4Network]) -> Networks:
    """Return networks without the addresses of others."""
    left = list(networks)
    for other in others:
        left = [part for network in left for part in _less(network, other)]
    return collapsed(left)


def _less(network: IPv4Network, other: IPv4Network) -> Iterable[IPv4Network]:
    if network.subnet_of(other):
        return []
    return network.address_exclude(other) if other.subnet_of(network) else [network]


def _holds(networks: Networks, address: IPv4Address) -> bool:
    return any(address in network for network in networks)


@lru_cache(maxsize=4)
def _inside(cluster: Cluster) -> Networks:
    # Nodes that gpupool does not manage may have addresses outside of cluster.network.
    nodes = [IPv4Network(address) for node in cluster.nodes.values() for address in node.all_addresses]
    return collapsed([*map(IPv4Network, cluster.networks), *nodes])


def _gateways(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return all addresses of gateways whose users must not connect to a node."""
    to = cluster.access.gateway_forwards_to
    if not to or node.name in to or node.has("gateway"):
        return ()
    return tuple(address for gateway in cluster.having("gateway") for address in gateway.all_addresses)


def _ports(cluster: Cluster, node: Node) -> tuple[int, int] | None:
    entry = cluster.policies.dev_ports
    if entry is None or (entry.where and node.name not in cluster.select(entry.where)):
        return None
    first, _, last = entry.range.partition("-")
    return int(first), int(last or first)


@lru_cache(maxsize=16)
def _text(cluster: Cluster, own: Rules, serves_pages: bool) -> str:
    return fill(
        "firewall.nft",
        cluster=cluster,
        table=TABLE,
        rules=own,
        limited=own.limited,
        slurm=SLURM_PORTS,
        unbound=UNBOUND_UIDS,
        user_to_sshd=USER_TO_SSHD,
        user_to_slurm=USER_TO_SLURM,
        user_in_sum=USER_IN_SUM,
        servers=(*([PORT] if serves_pages else []), *SLURM_PORTS),
        source_to_server=SOURCE_TO_SERVER,
    )
