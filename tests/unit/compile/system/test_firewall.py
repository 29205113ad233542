"""A node's table of nftables: admitted connections by its rules, and by the kernel if this machine has nft."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import packets
import pytest
from hypothesis import given
from hypothesis import strategies as some
from inventories import INVENTORY, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.policies import DevPorts
from gpupool.compile import files_of
from gpupool.compile.system.firewall import RULES, UNIT, Rules, rules, without
from gpupool.operations.firewall import admits

CLUSTERS = [cluster_at(path.parent) for path in sorted(INVENTORY.glob("*/inventory.py"))]
OUTSIDE = IPv4Address("192.0.2.7")

NETWORKS = some.builds(
    lambda number, size: str(IPv4Network((number >> (32 - size) << (32 - size) if size else 0, size))),
    some.integers(0, 2**32 - 1),
    some.integers(0, 32),
)
LISTS = some.lists(NETWORKS, max_size=3).map(tuple)
OPEN_TO = some.sampled_from(["cluster", "vpn", "all"])


@some.composite
def clusters(draw: some.DrawFn) -> Cluster:
    """Draw one of the inventories with any keys of access."""
    cluster = draw(some.sampled_from(CLUSTERS))
    access = cluster.access.model_copy(
        update={
            "admin": cluster.access.admin.model_copy(
                update={"networks": draw(LISTS), "port": draw(some.sampled_from([22, 2222, 8022]))}
            ),
            "vpn": draw(LISTS),
            "outside": tuple(draw(some.sets(some.sampled_from(["head", "gateway", "compute", "vpn"])))),
            "gateway_forwards_to": tuple(draw(some.lists(some.sampled_from(list(cluster.nodes)), max_size=2))),
        }
    )
    ports = draw(some.none() | some.builds(DevPorts, range=some.sampled_from(["8000-9000", "22"]), open_to=OPEN_TO))
    return replace(cluster, access=access, policies=cluster.policies.model_copy(update={"dev_ports": ports}))


def test_from_a_gateway_ssh_reaches_only_its_nodes_and_gateways() -> None:
    cluster = cluster_at(INVENTORY / "aau-ai-cloud")
    gateway = cluster.nodes["sshgw"].address
    barred = {name for name, node in cluster.nodes.items() if IPv4Network(gateway) in rules(cluster, node).ssh_never}
    assert barred == set(cluster.nodes) - {"ai-pilot", "sshgw"}


def any_of(networks: list[IPv4Network]) -> some.SearchStrategy[IPv4Address]:
    return some.sampled_from(networks).flatmap(
        lambda network: some.integers(int(network.network_address), int(network.broadcast_address)).map(IPv4Address)
    )


@given(some.data())
def test_no_node_ever_refuses_ssh_from_admins_networks(data: some.DataObject) -> None:
    """Always from access.admin.networks; also from inside, except for a gateway's users."""
    cluster = data.draw(clusters())
    node = data.draw(some.sampled_from(list(cluster.nodes.values())))
    own = rules(cluster, node)
    admins = [IPv4Network(network) for network in cluster.access.admin.networks]
    gateways = [IPv4Address(node.address) for node in cluster.having("gateway") if node.address]
    address = data.draw(any_of([IPv4Network(cluster.entry.network), *admins]))
    if any(address in network for network in admins) or address not in gateways:
        for port in (22, cluster.access.admin.port):
            assert own.lets_in(address, port)
    for source in (address, data.draw(any_of([IPv4Network("0.0.0.0/0")]))):
        # the role refuses a table that would block its own connection
        nets = [str(net) for net in own.ssh_from], [str(net) for net in own.ssh_never]
        assert admits(*nets, str(source)) == own.lets_in(source, 22)


@given(some.data())
def test_a_node_without_limits_refuses_no_address(data: some.DataObject) -> None:
    cluster = data.draw(clusters())
    node = data.draw(some.sampled_from(list(cluster.nodes.values())))
    own, address = rules(cluster, node), data.draw(any_of([IPv4Network("0.0.0.0/0")]))
    put = [file.path for file in files_of(cluster, node, "firewall")]
    assert put == [RULES, UNIT]
    if not own.limited:
        assert all(own.lets_in(address, port) for port in (22, 80, 8123))


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster.name)
def test_tables_of_others_are_never_named(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        for file in files_of(cluster, node, "firewall"):
            assert "flush" not in file.text
            tables = {
                line.split("table ", 1)[1].rstrip(" {") for line in file.text.splitlines() if "table inet" in line
            }
            assert tables == {"inet gpupool"}


def skynet(name: str) -> tuple[Cluster, Node]:
    cluster = next(cluster for cluster in CLUSTERS if cluster.name == "skynet")
    return cluster, cluster.nodes[name]


@pytest.mark.promise("SKY-166")
def test_ports_of_users_are_open_inside_and_closed_outside() -> None:
    for name in ("sky1", "clippy"):
        own = rules(*skynet(name))
        assert own.lets_in(IPv4Address("10.66.1.1"), 8123)
        assert not own.lets_in(OUTSIDE, 8123)
    assert rules(*skynet("sky1")).lets_in(OUTSIDE, 22), "heads are reached from outside, and tunnels go through them"
    assert not rules(*skynet("clippy")).lets_in(OUTSIDE, 22)


@pytest.mark.promise("AAU-013")
def test_from_outside_through_the_gateway_only_and_to_the_front_end_only() -> None:
    cluster = next(cluster for cluster in CLUSTERS if cluster.name == "aicloud")
    gateway = IPv4Address(cluster.having("gateway")[0].address or "")
    for name, through in (("ai-pilot", True), ("nv-ai-01", False)):
        own = rules(cluster, cluster.nodes[name])
        assert not own.lets_in(OUTSIDE, 22)
        assert own.lets_in(gateway, 22) is through


def test_a_vpn_that_only_the_site_knows_is_the_sites_to_admit() -> None:
    for name in ("arandu", "sdumont"):
        cluster = next(cluster for cluster in CLUSTERS if cluster.name == name)
        assert not any(rules(cluster, node).limited for node in cluster.nodes.values())


# The kernel's answer


def _namespaces() -> bool:
    if os.geteuid() or not all(map(shutil.which, ("nft", "ip", "unshare"))):
        return False
    try_it = ["unshare", "-n", "nft", "list", "ruleset"]
    return subprocess.run(try_it, capture_output=True, check=False).returncode == 0


PORTS = (22, 80, 8000, 8500, 9000, 9001)


def limited() -> Iterator[tuple[str, Rules, str]]:
    for cluster in CLUSTERS:
        texts: dict[str, tuple[str, Rules, str]] = {}
        for node in cluster.nodes.values():
            for file in files_of(cluster, node, "firewall")[:1] if rules(cluster, node).limited else ():
                texts.setdefault(file.text, (f"{cluster.name}-{node.name}", rules(cluster, node), file.text))
        yield from texts.values()


@pytest.mark.skipif(not _namespaces(), reason="needs root, nft and network namespaces")
@pytest.mark.parametrize(("name", "own", "text"), [pytest.param(*case, id=case[0]) for case in limited()])
def test_the_kernel_admits_the_same_connections_as_the_rules(name: str, own: Rules, text: str, tmp_path: Path) -> None:
    """A connection older than the table stays; other tables stay; loading it again changes nothing."""
    table = tmp_path / "firewall.nft"
    table.write_text(text)
    insides = [str(nets[0].network_address + 9) for nets in own.limited.values() if nets[0].prefixlen < 29]
    never = [str(net.network_address) for net in own.ssh_never]
    addresses = list(dict.fromkeys([*insides, *never, str(OUTSIDE)]))
    words = [str(table), "10.99.99.99", ",".join(addresses), ",".join(map(str, PORTS))]
    command = ["unshare", "-n", sys.executable, packets.__file__, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["came"] == "still here"
    wanted = [own.lets_in(IPv4Address(address), port) for address in addresses for port in PORTS]
    assert answer["reached"] == wanted
    assert set(wanted) == {True, False}


@pytest.mark.parametrize(
    ("networks", "others", "left"),
    [
        (["10.0.0.0/8"], ["10.0.0.0/9"], ["10.128.0.0/9"]),
        (["10.1.0.0/16"], ["10.0.0.0/8"], []),
        (["10.1.0.0/16"], ["10.1.0.0/16"], []),
        (["10.1.0.0/16"], ["192.168.0.0/16"], ["10.1.0.0/16"]),
        (["10.0.0.0/16", "10.1.0.0/16"], ["10.1.0.0/16"], ["10.0.0.0/16"]),
    ],
)
def test_networks_without_excluded_ones_keep_all_other_addresses(
    networks: list[str], others: list[str], left: list[str]
) -> None:
    """A gateway whose users may not reach a node, beside networks of admins, is excluded by the remaining networks."""
    found = without(map(IPv4Network, networks), map(IPv4Network, others))
    assert [str(network) for network in found] == left
