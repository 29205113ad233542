"""A testbed's Cluster: other drivers and a smaller scale; names, partitions and QoS stay."""

import ipaddress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import INVENTORY, SMALL, changed, cluster_at

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.compile import files_of
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.singularity import fetched_for
from gpupool.compile.system.spaces import homes_for
from gpupool.errors import TestbedError, UsageError
from gpupool.testbed.bare import bare as bare_of
from gpupool.testbed.overlay import SHARED, shared_out, spec_of, stand_in
from gpupool.testbed.spec import Spec

FOLDERS = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


CAPS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(1, 100), min_size=1, max_size=12)


@given(CAPS, st.integers(0, 1200), st.integers(0, 300))
def test_shares_add_up_to_the_pool(caps: dict[str, int], pool: int, spare: int) -> None:
    total = sum(caps.values())
    shares = shared_out(caps, pool, total + spare)
    assert set(shares) == set(caps)
    assert all(1 <= shares[name] <= cap for name, cap in caps.items())
    if not spare and len(caps) <= pool:
        assert sum(shares.values()) == min(pool, total)
    assert sum(shares.values()) <= max(len(caps), min(pool, total))


@given(CAPS)
def test_a_pool_as_large_as_the_cluster_changes_no_cap(caps: dict[str, int]) -> None:
    assert shared_out(caps, sum(caps.values()), sum(caps.values())) == caps


@given(CAPS, st.integers(1, 500))
def test_a_lab_with_more_gpus_never_gets_a_smaller_share(caps: dict[str, int], pool: int) -> None:
    shares = shared_out(caps, pool, sum(caps.values()))
    assert shares == shared_out(dict(sorted(caps.items())), pool, sum(caps.values()))
    for one, its in caps.items():
        for other, theirs in caps.items():
            assert its <= theirs or shares[one] >= shares[other]


def test_without_labs_there_are_no_shares() -> None:
    assert shared_out({}, 8, 16) == {}


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_are_unchanged(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    twin = stand_in(cluster, cgroup="v2")
    assert tuple(twin.nodes) == cluster.testbed_nodes
    for name, node in twin.nodes.items():
        assert node == replace(cluster.nodes[name], managed=True)
    assert set(twin.partitions) <= set(cluster.partitions)
    assert all(twin.partitions[name].nodes for name in twin.partitions)
    assert (twin.qos, twin.users.keys()) == (cluster.qos, cluster.users.keys())
    assert {name: partition.entry.tier for name, partition in twin.partitions.items()}.items() <= {
        name: partition.entry.tier for name, partition in cluster.partitions.items()
    }.items()
    assert twin.drivers.testbed
    assert not cluster.drivers.testbed


def test_skynets_caps_can_be_reached_with_its_pool(skynet: Cluster) -> None:
    twin = stand_in(skynet, cgroup="v1")
    caps = [account["GrpTRES"]["gres/gpu"] for account in entities(twin)["accounts"].values() if account["GrpTRES"]]
    assert sum(caps) == twin.total_gpus
    assert min(caps) >= 1
    assert set(twin.partitions) == set(skynet.partitions)


def test_times_are_shorter_in_a_testbed(skynet: Cluster) -> None:
    twin = stand_in(skynet, cgroup="v2")
    assert skynet.testbed is not None
    assert twin.partitions["overcap"].grace == skynet.testbed.grace < skynet.partitions["overcap"].grace
    assert twin.preemption.requeue_delay == skynet.testbed.requeue_delay
    assert twin.slurm.controller_timeout == skynet.testbed.controller_timeout
    assert twin.partitions["overcap"].entry.max_time == skynet.partitions["overcap"].entry.max_time


def test_a_qos_has_a_shorter_grace_time_in_a_testbed() -> None:
    savio = load(INVENTORY / "others" / "savio")
    long = replace(
        savio, qos={name: settings.model_copy(update={"grace": 600}) for name, settings in savio.qos.items()}
    )
    for cluster, grace in ((savio, None), (long, 8)):
        assert stand_in(cluster, cgroup="v1").qos["savio_lowprio"].grace == grace


def test_users_get_the_testbeds_key_besides_theirs(skynet: Cluster) -> None:
    twin = stand_in(skynet, cgroup="v2", keys=("ssh-ed25519 AAAA here",))
    assert all(
        user.entry.keys == (*skynet.users[name].entry.keys, "ssh-ed25519 AAAA here")
        for name, user in twin.users.items()
    )


@pytest.mark.parametrize("network", ["10.166.0.0/16", "172.30.0.0/15"])
def test_addresses_are_moved_together(skynet: Cluster, network: str) -> None:
    twin = stand_in(skynet, cgroup="v2", network=network)
    new = ipaddress.ip_network(network)
    assert spec_of(twin).network == network
    for name, node in twin.nodes.items():
        before, after = skynet.nodes[name].address, node.address
        assert before is not None
        assert after is not None
        assert ipaddress.ip_address(after) in new
        assert before.split(".")[2:] == after.split(".")[2:]


@pytest.mark.parametrize(
    ("network", "message"),
    [("10.1.0.0/24", "is smaller than"), ("ten", "is not an IPv4 network"), ("10.1.2.3/16", "has host bits set")],
)
def test_an_impossible_network_is_refused(skynet: Cluster, network: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stand_in(skynet, cgroup="v2", network=network)


def test_without_the_key_there_is_no_testbed(skynet: Cluster) -> None:
    with pytest.raises(TestbedError, match="set its nodes"):
        stand_in(replace(skynet, testbed=None), cgroup="v2")


def test_a_node_without_an_address_is_refused(skynet: Cluster) -> None:
    nodes = {**skynet.nodes, "sky1": replace(skynet.nodes["sky1"], address=None)}
    with pytest.raises(TestbedError, match="sky1: a node of a testbed needs an address"):
        stand_in(replace(skynet, nodes=nodes), cgroup="v2")


def test_the_testbed_has_these_containers(skynet: Cluster) -> None:
    twin = stand_in(skynet, cgroup="v1")
    spec = spec_of(twin, prefix="gp-x")
    assert (spec.name, spec.prefix, spec.network, spec.suite) == ("skynet", "gp-x", "10.66.0.0/16", "trixie")
    by_name = {container.name: container for container in spec.containers}
    assert list(by_name) == list(twin.nodes)
    assert by_name["sky1"].hostname == "sky1.cc.gatech.edu"
    assert by_name["a40-01"].gpus == 8
    assert by_name["a40-01"].packages == packages_for(twin, twin.nodes["a40-01"])
    assert by_name["multivac"].volumes["pskynet1"] == by_name["sky1"].volumes["pskynet1"] == f"{SHARED}/pskynet1"


def test_homes_and_slurms_state_survive_a_power_cut(skynet: Cluster) -> None:
    volumes = {volume.key: volume for volume in spec_of(stand_in(skynet, cgroup="v1")).volumes}
    assert skynet.storage.home.export is not None
    state = next(mount.export for mount in skynet.mounts if mount.holds(skynet.slurm.state))
    assert {key for key, volume in volumes.items() if volume.kind == "disk"} == {skynet.storage.home.export, state}
    assert (volumes["pskynet1"].source, volumes["pskynet1"].size) == ("multivac.cc.gatech.edu:/pskynet1", "50T")


def test_a_mount_contains_only_paths_below_it(skynet: Cluster) -> None:
    mount = next(mount for mount in skynet.mounts if mount.at == "/coc/pskynet1")
    assert mount.holds("/coc/pskynet1")
    assert mount.holds("/coc/pskynet1/slurm")
    assert not mount.holds("/coc/pskynet12")


def test_storage_outside_the_inventory_has_homes_in_a_testbed() -> None:
    cluster = cluster_at(INVENTORY / "aau-ai-cloud")
    server = cluster.nodes["storage"]
    assert not server.managed
    twin = stand_in(cluster, cgroup="v2", keys=("ssh-ed25519 AAAA here",))
    assert twin.nodes["storage"].managed
    homes = homes_for(twin, twin.nodes["storage"])
    assert [(home.path, home.keys[-1]) for home in homes] == [
        ("/ai/aicloud/student.aau.dk/u1", "ssh-ed25519 AAAA here"),
        ("/ai/aicloud/cs.aau.dk/u2", "ssh-ed25519 AAAA here"),
        ("/ai/aicloud/es.aau.dk/u3", "ssh-ed25519 AAAA here"),
    ]


def test_singularity_comes_from_another_suite_on_request_of_the_testbed() -> None:
    cluster = cluster_at(INVENTORY / "aau-ai-cloud")
    twin = stand_in(cluster, cgroup="v2")
    node = twin.nodes["nv-ai-01"]
    assert fetched_for(cluster, node)
    assert fetched_for(twin, node) is None
    assert "apptainer" in packages_for(twin, node)
    boxes = {box.name: box.packages for box in spec_of(twin).containers}
    assert "apptainer/sid" in boxes["nv-ai-01"]
    assert not [name for name in boxes["ai-pilot"] if "/" in name]
    bare = {box.name: box.packages for box in bare_of(spec_of(twin)).containers}
    assert (bare["nv-ai-01"], bare["ai-pilot"]) == (("apptainer/sid",), ()), "no node can download it"


@pytest.mark.parametrize("packages", ["schedmd", "site", "distribution"])
def test_a_testbed_has_schedmds_packages_if_the_inventory_has_and_never_the_sites(
    skynet: Cluster, packages: str
) -> None:
    given = skynet.slurm.model_copy(update={"packages": packages, "repository": {"default": "site"}})
    twin = stand_in(replace(skynet, slurm=given), cgroup="v2")
    assert twin.slurm.packages == ("schedmd" if packages == "schedmd" else "distribution")
    assert twin.slurm.repository is None
    assert not files_of(twin, twin.nodes["a40-01"], "repositories")
    boxes, bare = ({box.name: set(box.packages) for box in spec.containers} for spec in _full_and_bare(twin))
    assert ("slurm-smd-slurmd" in boxes["a40-01"], "slurmd" in boxes["a40-01"]) == (
        packages == "schedmd",
        packages != "schedmd",
    )
    assert bare["a40-01"] == ({"slurm-smd", "slurm-smd-client"} if packages == "schedmd" else set()), "apt finds them"


def _full_and_bare(twin: Cluster) -> tuple[Spec, Spec]:
    spec = spec_of(twin)
    return spec, bare_of(spec)


def test_a_system_without_an_image_is_refused(tmp_path: Path) -> None:
    software = "software: {distribution: ubuntu-26.04}\nslurm: {version: '25.11'}\nscheduler:"
    twin = stand_in(changed(SMALL, tmp_path / "own", ("scheduler:", software)), cgroup="v2")
    with pytest.raises(TestbedError, match=r"no image of Ubuntu 26\.04 for a testbed.*gpupool rehearse"):
        spec_of(twin)
