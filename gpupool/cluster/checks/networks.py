"""Check the further networks of nodes (cluster.networks): their addresses, names, and who uses them."""

import ipaddress
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import combinations

from gpupool.addresses import name_in
from gpupool.cluster.checks.names import unknown
from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.resolve.site import Site
from gpupool.slurm.hostlists import fold_set

_CONTROLLERS = frozenset(("controller", "backup-controller"))
_NETWORKS = ("cluster", "networks")


def ensure_networks_are_apart(site: Site) -> Iterator[Complaint]:
    """Each further network is an IPv4 network, and no address is in two networks."""
    cluster = site.inventory.cluster
    good: list[tuple[str, ipaddress.IPv4Network]] = []
    for key, path, text in (
        ("cluster.network", ("cluster", "network"), cluster.network),
        *((f"cluster.networks.{name}", (*_NETWORKS, name), text) for name, text in cluster.networks.items()),
    ):
        try:
            good.append((key, ipaddress.IPv4Network(text)))
        except ValueError as error:
            if key != "cluster.network":  # another check complains about that
                yield Complaint(path, f"not an IPv4 network: {error}", "write 10.67.0.0/16")
    for (first, one), (second, other) in combinations(good, 2):
        if one.overlaps(other):
            path = (*_NETWORKS, second.rpartition(".")[2])
            yield Complaint(path, f"{other} overlaps {first}, {one}", "an address must be in one network")


def ensure_further_addresses_are_in_their_networks(site: Site) -> Iterator[Complaint]:
    """An address in a further network is an IPv4 address there, and cluster.networks has the network."""
    networks = site.inventory.cluster.networks
    ranges = _ranges(site)
    for index, entry in enumerate(site.inventory.nodes):
        for name in entry.addresses:
            if name not in networks:
                yield _unknown(site, ("nodes", index, "addresses", name), name)
    for node in site.node_table.nodes:
        for name, text in node.addresses.items():
            path: Path = (*node.path, "addresses", name)
            try:
                address = ipaddress.IPv4Address(text)
            except ValueError:
                yield Complaint(path, f"{text!r} is not an IPv4 address")
                continue
            network = ranges.get(name)
            if network and address not in network:
                yield Complaint(path, f"{node.name}: {address} is outside {'.'.join(_NETWORKS)}.{name} {network}")


def ensure_names_in_further_networks_are_free(site: Site) -> Iterator[Complaint]:
    """No node has the name that /etc/hosts gives to another node in a further network, such as a40-01-fabric."""
    taken = site.node_table.by_name
    for node in site.node_table.nodes:
        for network in node.addresses:
            if (name := name_in(node.name, network)) in taken:
                message = f"{name} is the name of {node.name} in the network {network}, and of another node"
                yield Complaint((*node.path, "addresses", network), message, "rename the network, or the node")


def ensure_chosen_networks_exist(site: Site) -> Iterator[Complaint]:
    """The networks of Slurm, of exports and of gpupool's SSH are in cluster.networks."""
    for path, name in _chosen(site):
        if name is not None and name not in site.inventory.cluster.networks:
            yield _unknown(site, path, name)


def ensure_controllers_are_in_slurms_network(site: Site) -> Iterator[Complaint]:
    """Controllers have an address in slurm.network; other nodes without one keep `address`."""
    network = site.inventory.slurm.network
    yield from _without(
        site,
        ("slurm", "network"),
        network,
        (node.name for node in site.node_table.nodes if not _CONTROLLERS.isdisjoint(node.entry.roles)),
    )


def ensure_heads_are_in_slurms_network(site: Site) -> Iterator[Complaint]:
    """Heads have an address in slurm.network, because srun connects to each node of a job."""
    heads = [node for node in site.node_table.nodes if "head" in node.entry.roles]
    names = [node.name for node in heads if _CONTROLLERS.isdisjoint(node.entry.roles)]
    for complaint in _without(site, ("slurm", "network"), site.inventory.slurm.network, names):
        message = f"{complaint.message}: srun there needs a route to the nodes' addresses in it"
        yield replace(complaint, message=message, severity="warning")


def ensure_servers_and_clients_share_a_network(site: Site) -> Iterator[Complaint]:
    """An export's server, and its clients that gpupool manages, have an address in the export's network."""
    storage, by_name = site.inventory.storage, site.node_table.by_name
    for key, export in storage.exports.items():
        if not export.enabled or export.mounted_by == "site" or export.server not in by_name:
            continue
        clients = site.nodes_of(export.mount_on or storage.mount_on)
        names = [name for name in by_name if name == export.server or (name in clients and by_name[name].entry.managed)]
        yield from _without(site, ("storage", "exports", key, "network"), export.network, names)


def _chosen(site: Site) -> Iterator[tuple[Path, str | None]]:
    inventory = site.inventory
    yield ("slurm", "network"), inventory.slurm.network
    yield ("access", "admin", "network"), inventory.access.admin.network
    for key, export in inventory.storage.exports.items():
        yield ("storage", "exports", key, "network"), export.network


def _unknown(site: Site, path: Path, name: str) -> Complaint:
    known = site.inventory.cluster.networks
    return unknown(path, "network", name, known, f"cluster.networks has {', '.join(known) or 'none'}")


def _without(site: Site, path: Path, network: str | None, names: Iterable[str]) -> Iterator[Complaint]:
    """Yield a complaint that names the nodes without an address in a network, if there are any."""
    if network not in site.inventory.cluster.networks:
        return  # none is chosen, or another check complains about it
    if without := [name for name in names if network not in site.node_table.by_name[name].addresses]:
        have = "have" if len(without) > 1 else "has"
        message = f"{fold_set(without)} {have} no address in the network {network}"
        yield Complaint(path, message, f"add addresses: {{{network}: …}} in `nodes`")


def _ranges(site: Site) -> dict[str, ipaddress.IPv4Network]:
    """Return the further networks by name, without those about which another check complains."""
    ranges: dict[str, ipaddress.IPv4Network] = {}
    for name, text in site.inventory.cluster.networks.items():
        with suppress(ValueError):
            ranges[name] = ipaddress.IPv4Network(text)
    return ranges
