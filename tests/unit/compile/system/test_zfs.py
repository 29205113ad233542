"""The inventory's ZFS keys as pools and datasets, in the words and numbers that zfs itself prints."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inventories import INVENTORY, STORED, changed, cluster_at, copied

from gpupool.cluster.load import examine
from gpupool.cluster.model import Cluster
from gpupool.cluster.resolve.pools import Placed, dataset_of
from gpupool.cluster.schema.storage import Export, Pool
from gpupool.cluster.zfs_properties import OF_DATASETS, wrong
from gpupool.compile.system.zfs import datasets_for, pools_for
from gpupool.operations.zfs.values import create_arguments, plain, plain_properties
from gpupool.testbed.overlay import stand_in
from gpupool.wanted import Dataset, Vdev

GIB, TIB = 2**30, 2**40


def datasets(cluster: Cluster, node: str) -> dict[str, Dataset]:
    return {dataset.name: dataset for dataset in datasets_for(cluster, cluster.nodes[node])}


def test_a_pool_has_the_arguments_of_zpool_create(stored: Cluster) -> None:
    (tank,) = pools_for(stored, stored.nodes["fs1"])
    assert (tank.name, tank.properties, tank.scrub) == ("tank", {"ashift": "12"}, "monthly")
    by_id = "/dev/disk/by-id"
    assert [word for vdev in tank.vdevs for word in create_arguments(vdev)] == [
        *("mirror", f"{by_id}/a", f"{by_id}/b", "mirror", f"{by_id}/c", f"{by_id}/d"),
        *("special", "mirror", f"{by_id}/e", f"{by_id}/f"),
    ]


@pytest.mark.parametrize(
    ("kind", "disks", "layout"),
    [
        ("stripe", "a b", "a b"),
        ("mirror", "a b", "mirror a b"),
        ("raidz2", "a b", "raidz2 a b"),
        ("raidz2", "a b c", "raidz2 a b c"),
        ("log", "a", "log a"),
        ("log", "a b", "log mirror a b"),
        ("special", "a b", "special mirror a b"),
        ("dedup", "a b", "dedup mirror a b"),
        ("cache", "a b", "cache a b"),
        ("spare", "a b", "spare a b"),
    ],
)
def test_vdevs_are_written_in_zpools_notation(kind: str, disks: str, layout: str) -> None:
    assert create_arguments(Vdev(kind, tuple(disks.split()))) == layout.split()


def test_parent_datasets_come_first_and_only_contain_their_children(stored: Cluster) -> None:
    found = datasets(stored, "fs1")
    assert list(found) == ["tank", "tank/labs", "tank/labs/blue", "tank/labs/red"]
    assert found["tank/labs"] == Dataset("tank/labs", "/tank/labs")


def test_defaults_are_set_at_the_top_and_inherited(stored: Cluster) -> None:
    found = datasets(stored, "fs1")
    wanted = {"compression": "zstd", "atime": "off", "xattr": "sa", "acltype": "posix", "site:owner": "red"}
    assert plain_properties(found["tank"]) == wanted
    assert plain_properties(found["tank/labs/red"]) == {
        "recordsize": "1048576",
        "quota": str(70 * TIB),
        "reservation": str(TIB),
    }
    assert found["tank/labs/red"].snapshots == {"daily": 7}


def test_an_export_of_a_whole_pool_has_the_pools_defaults_too(stored: Cluster) -> None:
    whole = datasets_for(stored, stored.nodes["fs2"])[0]
    assert (whole.name, whole.mountpoint) == ("fast", "/zfs/fast")
    assert whole.properties.items() >= {"compression": "lz4", "atime": "off", "xattr": "sa", "acltype": "posix"}.items()


def test_unset_properties_are_not_changed(stored: Cluster) -> None:
    """Without a size there is no quota: a quota that was set by hand stays."""
    blue = datasets(stored, "fs1")["tank/labs/blue"]
    assert (plain_properties(blue), blue.mountpoint) == ({"recordsize": "16384", "refquota": "0"}, "/export/blue")


@pytest.mark.promise("SKY-083")
def test_the_size_of_a_zfs_export_is_its_quota() -> None:
    cluster = cluster_at(INVENTORY / "skynet")
    found = {dataset.mountpoint: dataset for node in cluster.nodes.values() for dataset in datasets_for(cluster, node)}
    exports = [
        (mount.path, mount.entry.size) for mount in cluster.mounts if mount.entry.fs == "zfs" and mount.entry.size
    ]
    assert len(exports) == 12
    assert {path: found[path].properties["quota"] for path, _ in exports} == {
        path: str(size * 2**20) for path, size in exports
    }


@pytest.mark.promise("SKY-052")
def test_each_home_has_its_quota() -> None:
    cluster = cluster_at(INVENTORY / "skynet")
    homes = datasets(cluster, "multivac")["nethome"]
    assert homes.user_quotas == {str(user.uid): 30 * GIB for user in cluster.users.values()}
    others = [
        dataset for node in cluster.nodes for dataset in datasets(cluster, node).values() if dataset.name != "nethome"
    ]
    assert {tuple(other.user_quotas) for other in others} == {()}


def test_accounts_share_a_quota_by_their_tier(stored: Cluster) -> None:
    found = datasets(stored, "fs2")
    assert found["fast"].group_quotas == {"5001": 25 * TIB, "5002": 50 * TIB}
    assert found["fast/homes"].group_quotas == {}
    assert found["fast/homes"].user_quotas == {"20001": 30 * GIB, "20002": 30 * GIB}


def test_each_user_has_a_number_of_files(tmp_path: Path) -> None:
    old, home = "scratch: {server: fs2, path: /zfs/fast, fs: zfs", "quota: 30G"
    changes = ((old, f"{old}, user_quota: {{hard: 2T, files: 5000}}"), (home, f"{home}, files: 700"))
    found = datasets(changed(STORED, tmp_path, *changes), "fs2")
    assert found["fast"].user_files == {"20001": 5000, "20002": 5000}
    assert found["fast/homes"].user_files == {"20001": 700, "20002": 700}
    assert found["fast/homes"].user_quotas == {"20001": 30 * GIB, "20002": 30 * GIB}


def test_each_user_has_a_quota_outside_homes_too(tmp_path: Path) -> None:
    old = "scratch: {server: fs2, path: /zfs/fast, fs: zfs"
    cluster = changed(STORED, tmp_path, (old, f"{old}, user_quota: {{hard: 2T}}"))
    found = datasets(cluster, "fs2")
    assert found["fast"].user_quotas == {"20001": 2 * TIB, "20002": 2 * TIB}
    assert found["fast"].group_quotas == {"5001": 25 * TIB, "5002": 50 * TIB}
    assert found["fast/homes"].user_quotas == {"20001": 30 * GIB, "20002": 30 * GIB}


def test_quotas_on_another_admins_server_are_neither_set_nor_checked(tmp_path: Path) -> None:
    old = "server: fs2, path: /zfs/fast/homes, fs: zfs, at: /home"
    new = "server: fs1, path: /elsewhere/homes, quotas_by: site, at: /home"
    loaded = examine(copied(STORED, tmp_path / "one", (old, new)))
    assert loaded.open == []
    assert loaded.cluster
    assert {
        tuple(dataset.user_quotas) for node in ("fs1", "fs2") for dataset in datasets(loaded.cluster, node).values()
    } == {()}


@pytest.mark.promise("AAU-016")
def test_a_user_with_a_domain_has_a_quota_too(tmp_path: Path) -> None:
    """By number: zfs would take such a name for a Windows user."""
    cluster = changed(STORED, tmp_path, ("name: ann,", "name: ann@red.example.org,"))
    assert "ann@red.example.org" in cluster.users
    assert datasets(cluster, "fs2")["fast/homes"].user_quotas == {"20001": 30 * GIB, "20002": 30 * GIB}


def test_accounts_of_a_tier_without_a_quota_have_none(tmp_path: Path) -> None:
    cluster = changed(STORED, tmp_path, ("quota: {standard: 25T, premium: 50T}", "quota: {premium: 50T}"))
    assert datasets(cluster, "fs2")["fast"].group_quotas == {"5002": 50 * TIB}


@pytest.mark.promise("SKY-089")
def test_a_node_has_local_datasets_on_its_pool(stored: Cluster) -> None:
    assert [dataset.mountpoint for dataset in datasets(stored, "gpu-2").values()] == ["/zfs/local", "/zfs/local/own"]
    assert datasets(stored, "gpu-2")["local/own"].properties == {"quota": str(3 * TIB)}
    skynet = cluster_at(INVENTORY / "skynet")
    assert "/zfs/testshare" in [dataset.mountpoint for dataset in datasets(skynet, "clippy").values()]


def test_nodes_without_pools_have_no_datasets(stored: Cluster) -> None:
    assert pools_for(stored, stored.nodes["ctl"]) == []
    assert datasets(stored, "ctl") == {}


def test_in_a_testbed_only_machines_have_pools() -> None:
    twin = stand_in(cluster_at(INVENTORY / "example"), cgroup="v2")
    files = twin.nodes["files"]
    assert (pools_for(twin, files), datasets_for(twin, files)) == ([], [])
    real = replace(twin, drivers=replace(twin.drivers, machines=frozenset(["files"])))
    assert [pool.name for pool in pools_for(real, files)] == ["tank"]


def test_a_dataset_below_a_dataset_that_is_mounted_elsewhere(tmp_path: Path) -> None:
    """A dataset between two others inherits from its parent, in any order of the inventory."""
    old = "dataset: tank/labs/blue, properties: {recordsize: 16K, refquota: none}}"
    new = "dataset: tank/b/c/d}\n    upper: {server: fs1, path: /export/upper, fs: zfs, dataset: tank/b}"
    cluster = changed(STORED, tmp_path, (old, new))
    found = datasets(cluster, "fs1")
    assert (found["tank/b"].mountpoint, found["tank/b/c"].mountpoint) == ("/export/upper", "/export/upper/c")


def test_the_innermost_pool_holds_a_path() -> None:
    pools = (Placed("a", "a", "/", Pool(server="x")), Placed("b", "b", "/data", Pool(server="x")))
    named = {path: dataset_of(Export(path=path, fs="zfs"), pools) for path in ("/data", "/data/x", "/database")}
    assert named == {"/data": "b", "/data/x": "b/x", "/database": "a/database"}


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)


@given(pool=NAMES, steps=st.lists(NAMES, max_size=4), at=st.lists(NAMES, max_size=3))
def test_a_path_below_the_mountpoint_of_a_pool_is_its_dataset(pool: str, steps: list[str], at: list[str]) -> None:
    top = "/" + "/".join(at)
    path = "/" + "/".join([*at, *steps])
    assert dataset_of(Export(path=path, fs="zfs"), (Placed(pool, pool, top, Pool(server="x")),)) == "/".join(
        [pool, *steps]
    )


# Values


@given(number=st.integers(0, 999), unit=st.sampled_from(" KMGTP"))
def test_sizes_are_written_in_bytes(number: int, unit: str) -> None:
    value = plain("refquota", f"{number}{unit.strip()}")
    assert int(value) == number * 1024 ** " KMGTP".index(unit)
    assert plain("refquota", value) == value


@given(name=st.sampled_from(sorted(OF_DATASETS)), data=st.data())
def test_every_allowed_value_has_one_normal_form(name: str, data: st.DataObject) -> None:
    value = data.draw(st.from_regex(OF_DATASETS[name], fullmatch=True))
    assert wrong(name, value, OF_DATASETS) is None
    assert plain(name, plain(name, value)) == plain(name, value)


@pytest.mark.parametrize(
    ("name", "value", "printed"),
    [
        *((name, "2M", "2097152") for name in ("quota", "refquota", "reservation", "refreservation", "volsize")),
        *((name, "16K", "16384") for name in ("recordsize", "special_small_blocks")),
        ("recordsize", "1M", "1048576"),
        ("quota", "none", "0"),
        ("quota", "1.5G", "1610612736"),
        ("quota", "7", "7"),
        ("mountpoint", "none", "none"),
        ("filesystem_limit", "2M", "2M"),
        ("refquota", "1.5G", "1610612736"),
        ("refquota", "none", "0"),
        ("snapshot_limit", "100", "100"),
        ("acltype", "posixacl", "posix"),
        ("compression", "gzip-6", "gzip"),
        ("compression", "gzip-9", "gzip-9"),
        ("compression", "zstd-3", "zstd"),
        ("compression", "zstd-19", "zstd-19"),
        ("compression", "zstd-fast-1", "zstd-fast"),
        ("site:owner", "1M", "1M"),
    ],
)
def test_values_as_zfs_prints_them(name: str, value: str, printed: str) -> None:
    assert plain(name, value) == printed
