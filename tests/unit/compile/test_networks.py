"""Nodes with addresses in several networks: each user of an address takes the one of its network."""

import re
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from inventories import STORED, changed, copied

from gpupool.cluster.edit.nodes import without_node
from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.conf import slurm_conf
from gpupool.compile.slurm.heart import heart_of
from gpupool.compile.slurm.names import servers
from gpupool.compile.system.access import forwards_to
from gpupool.compile.system.exports import exports_file
from gpupool.compile.system.firewall import rules
from gpupool.compile.system.names import hosts
from gpupool.compile.system.ssh import files as ssh_files
from gpupool.compile.system.ssh import names_of_nodes, settings
from gpupool.compile.system.storage import mounts_for
from gpupool.joining.network import servers_of
from gpupool.joining.prepare import logins
from gpupool.joining.written import read_original
from gpupool.target import target_of
from gpupool.testbed.overlay import stand_in
from gpupool.verify.links import links

CTL = (
    "{name: ctl, address: 10.91.1.1,",
    "{name: ctl, address: 10.91.1.1, addresses: {fabric: 10.92.1.1, mgmt: 10.93.1.1},",
)
FS1 = ("{name: fs1, address: 10.91.3.1,", "{name: fs1, address: 10.91.3.1, addresses: {fabric: 10.92.3.1},")
GPU = (
    'address: "10.91.2.[1-2]",',
    'address: "10.91.2.[1-2]", addresses: {fabric: "10.92.2.[1-2]", mgmt: "10.93.2.[2,1]"},',
)
NETWORKS = (
    "network: 10.91.0.0/16}",
    "network: 10.91.0.0/16, networks: {fabric: 10.92.0.0/16, mgmt: 10.93.0.0/16, spare: 10.94.0.0/16}}",
)
SLURM = ("scheduler:", "slurm: {network: fabric}\nscheduler:")
EXPORT = ("red: {server: fs1,", "red: {server: fs1, network: fabric,")
SSH = ("access: {", "access: {admin: {network: mgmt}, outside: [head], host_based: true, ")
ALL = (NETWORKS, CTL, FS1, GPU, SLURM, EXPORT, SSH)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    return changed(STORED, tmp_path_factory.mktemp("networks"), *ALL)


def test_each_node_of_a_range_has_its_address_in_each_network(cluster: Cluster) -> None:
    assert {name: dict(node.addresses) for name, node in cluster.nodes.items()} == {
        "ctl": {"fabric": "10.92.1.1", "mgmt": "10.93.1.1"},
        "fs1": {"fabric": "10.92.3.1"},
        "fs2": {},
        "gpu-1": {"fabric": "10.92.2.1", "mgmt": "10.93.2.2"},
        "gpu-2": {"fabric": "10.92.2.2", "mgmt": "10.93.2.1"},
    }


def test_slurm_reaches_nodes_in_its_network(cluster: Cluster) -> None:
    lines = slurm_conf(cluster).splitlines()
    assert "SlurmctldHost=ctl(10.92.1.1)" in lines
    assert "AccountingStorageHost=10.92.1.1" in lines
    assert [re.findall(r"NodeAddr=(\S+)", line) for line in lines if line.startswith("NodeName=gpu")] == [
        ["10.92.2.[1-2]"]
    ]
    assert servers(cluster) == ["10.92.1.1"]
    assert {link.address for link in links(cluster, cluster.having("compute"))["gpu-1"]} == {"10.92.2.2"}
    assert heart_of(cluster).addresses == ["10.91.1.1", "10.92.1.1", "10.93.1.1"]


def test_a_compute_node_without_an_address_in_slurms_network_keeps_its_own(tmp_path: Path) -> None:
    text = slurm_conf(changed(STORED, tmp_path, NETWORKS, CTL, SLURM))
    assert "SlurmctldHost=ctl(10.92.1.1)" in text
    assert "NodeAddr=10.91.2.[1-2]" in text


def test_without_a_choice_all_use_the_first_address(tmp_path: Path) -> None:
    cluster = changed(STORED, tmp_path, NETWORKS, CTL, FS1, GPU)
    before = changed(STORED, tmp_path / "before")
    assert slurm_conf(cluster) == slurm_conf(before)
    for name, node in cluster.nodes.items():
        assert exports_file(cluster, node) == exports_file(before, before.nodes[name])
        assert mounts_for(cluster, node) == mounts_for(before, before.nodes[name])
        assert node.logged_in_at == node.address


def test_clients_mount_an_export_in_its_network(cluster: Cluster) -> None:
    sources = {mount.path: mount.source for mount in mounts_for(cluster, cluster.nodes["gpu-1"])}
    assert sources["/mnt/red"] == "10.92.3.1:/tank/labs/red"
    assert sources["/mnt/blue"] == "fs1.stored.example:/export/blue"


def test_a_server_exports_to_the_addresses_in_the_exports_network(cluster: Cluster) -> None:
    clients = {
        line.split()[0]: line.split()[2:] for line in exports_file(cluster, cluster.nodes["fs1"]).text.splitlines()[1:]
    }
    assert clients["/tank/labs/red"] == ["10.92.1.1", "10.92.2.1", "10.92.2.2"]
    assert clients["/export/blue"] == ["10.91.1.1", "10.91.2.1", "10.91.2.2"]


def test_a_client_that_gpupool_leaves_needs_no_address_in_the_exports_network(tmp_path: Path) -> None:
    left = ("accounts:\n", "  - {name: far, address: 10.91.9.9, roles: [head], managed: false}\naccounts:\n")
    cluster = changed(STORED, tmp_path, NETWORKS, CTL, FS1, GPU, EXPORT, left)
    text = exports_file(cluster, cluster.nodes["fs1"]).text
    assert re.findall(r"^/tank/labs/red .*", text, re.M)[0].endswith(" 10.92.1.1 10.92.2.1 10.92.2.2")
    assert "/export/blue" in text
    assert "10.91.9.9" in text


def test_a_node_that_gpupool_leaves_has_further_addresses_too(tmp_path: Path) -> None:
    entry = '  - {name: "far[1-2]", addresses: {fabric: "10.92.9.[1-2]"}, roles: [head], managed: false}\naccounts:\n'
    cluster = changed(STORED, tmp_path, NETWORKS, CTL, FS1, GPU, EXPORT, ("accounts:\n", entry))
    assert "\n10.92.9.1 far1-fabric.stored.example far1-fabric\n" in hosts(cluster)
    assert " 10.92.9.1 10.92.9.2\n" in exports_file(cluster, cluster.nodes["fs1"]).text


def test_each_further_address_has_a_name_in_etc_hosts(cluster: Cluster) -> None:
    lines = hosts(cluster).splitlines()
    at = lines.index("10.91.3.1 fs1.stored.example fs1")
    assert lines[at + 1 : at + 3] == [
        "10.92.3.1 fs1-fabric.stored.example fs1-fabric",
        "10.91.3.2 fs2.stored.example fs2",
    ]
    assert "10.93.2.2 gpu-1-mgmt.stored.example gpu-1-mgmt" in lines


@pytest.mark.parametrize("address", ["10.91.9.9", "10.92.9.9", "10.93.9.9"])
def test_nodes_talk_to_each_other_in_all_networks(cluster: Cluster, address: str) -> None:
    assert rules(cluster, cluster.nodes["gpu-1"]).lets_in(IPv4Address(address), 6818)
    assert not rules(cluster, cluster.nodes["gpu-1"]).lets_in(IPv4Address("10.95.0.1"), 6818)


def test_a_gateway_gets_in_by_none_of_its_addresses(tmp_path: Path) -> None:
    gateway = "  - {name: gate, address: 10.91.4.1, addresses: {fabric: 10.92.4.1}, roles: [gateway]}\naccounts:\n"
    access = ("access: {", "access: {gateway_forwards_to: [ctl], outside: [gateway], ")
    cluster = changed(STORED, tmp_path, NETWORKS, CTL, ("accounts:\n", gateway), access)
    own = rules(cluster, cluster.nodes["gpu-1"])
    assert not own.lets_in(IPv4Address("10.91.4.1"), 22)
    assert not own.lets_in(IPv4Address("10.92.4.1"), 22)
    assert own.lets_in(IPv4Address("10.92.4.2"), 22)
    assert {"ctl:22", "10.91.1.1:22", "ctl-fabric:22", "10.92.1.1:22"} <= {*forwards_to(cluster, cluster.nodes["gate"])}


def test_sshd_knows_nodes_in_all_networks(cluster: Cluster) -> None:
    assert names_of_nodes(cluster)["gpu-1"] == (
        "gpu-1,gpu-1.stored.example,10.91.2.1,gpu-1-fabric.stored.example,gpu-1-fabric,10.92.2.1,"
        "gpu-1-mgmt.stored.example,gpu-1-mgmt,10.93.2.2"
    )
    assert names_of_nodes(cluster)["fs2"] == "fs2,fs2.stored.example,10.91.3.2"
    trusted = {file.path: file.text for file in ssh_files(cluster, cluster.nodes["gpu-1"])}["/etc/ssh/shosts.equiv"]
    assert {"10.91.1.1", "10.92.1.1", "10.93.1.1", "ctl-fabric.stored.example"} <= {*trusted.splitlines()}
    assert "10.91.0.0/16,10.92.0.0/16,10.93.0.0/16" in settings(cluster, cluster.nodes["gpu-1"])


def test_gpupool_logs_in_at_the_network_of_admins(cluster: Cluster, tmp_path: Path) -> None:
    target = target_of(cluster, tmp_path, "nodes")
    assert target.addresses == {
        "ctl": "10.93.1.1",
        "fs1": "10.91.3.1",
        "fs2": "10.91.3.2",
        "gpu-1": "10.93.2.2",
        "gpu-2": "10.93.2.1",
    }
    assert target.data(cluster.nodes["gpu-1"])["ssh_hostname"] == "10.93.2.2"


def test_the_link_to_a_fileserver_is_that_of_the_exports_network(cluster: Cluster) -> None:
    assert servers_of(cluster, cluster.nodes["gpu-2"]) == {
        "10.92.3.1": "fs1",
        "10.91.3.1": "fs1",
        "10.91.3.2": "fs2",
    }


def test_a_testbed_has_one_network(tmp_path: Path) -> None:
    testbed = ("access: {", 'testbed: {nodes: "@*"}\naccess: {')
    twin = stand_in(changed(STORED, tmp_path, NETWORKS, CTL, FS1, GPU, SLURM, EXPORT, testbed), cgroup="v2")
    assert "SlurmctldHost=ctl(10.91.1.1)" in slurm_conf(twin)
    assert twin.networks == ("10.91.0.0/16",)
    assert {mount.source for mount in twin.mounts if mount.export == "red"} == {"fs1.stored.example:/tank/labs/red"}
    assert "fabric" not in hosts(twin)


def test_a_node_leaves_a_range_with_all_its_addresses(tmp_path: Path) -> None:
    text = without_node((copied(STORED, tmp_path, *ALL) / "inventory.yml").read_text(), "gpu-1")
    assert "{name: gpu-2, address: 10.91.2.2, addresses: {fabric: 10.92.2.2, mgmt: 10.93.2.1}, roles" in text


def test_a_new_machine_is_logged_in_to_in_the_network_of_admins(tmp_path: Path) -> None:
    original = read_original(copied(STORED, tmp_path, *ALL))
    target = target_of(original.cluster, tmp_path, "nodes")
    new = {"gpu-3": "10.91.2.3", "gpu-4": "10.91.2.4"}
    further = {"gpu-3": {"mgmt": "10.93.2.3", "fabric": "10.92.2.3"}, "gpu-4": {"fabric": "10.92.2.4"}}
    assert logins(target, original, new, further) == {"gpu-3": "10.93.2.3", "gpu-4": "10.91.2.4"}
