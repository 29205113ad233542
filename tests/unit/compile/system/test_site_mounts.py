"""Mounts of the site: no unit of ours, but links, homes, the health check and verify use them."""

from pathlib import Path

import pytest
from inventories import STORED, changed

from gpupool.cluster.model import Cluster
from gpupool.compile import files_for
from gpupool.compile.system.exports import exports_for
from gpupool.compile.system.health import settings
from gpupool.compile.system.spaces import folders_for, homes_for, tops_for
from gpupool.compile.system.storage import links_for, mounts_for, needed_for, served_by, theirs_for, used_for
from gpupool.compile.system.usage import worker
from gpupool.joining.network import servers_of
from gpupool.testbed.overlay import spec_of, stand_in

HOMES = "    homes: {server: fs2, path: /zfs/fast/homes, fs: zfs, at: /home, options: [nconnect=4, nosuid]}\n"
LUSTRE = "    homes: {at: /home, fs: lustre, mounted_by: site, made_on: ctl}\n"
SPACE = (
    "    blue: {server: fs1, path: /export/blue, fs: zfs, dataset: tank/labs/blue, "
    "properties: {recordsize: 16K, refquota: none}}\n"
)
WEKA = "    blue: {at: /weka, fs: weka, mounted_by: site}\n"
FILESETS = (
    "    homes: {at: /gpfs/home, mount_point: /gpfs, fs: gpfs, mounted_by: site, made_on: ctl}\n",
    "    blue: {at: /gpfs/blue, mount_point: /gpfs, fs: gpfs, mounted_by: site}\n",
)
CHECKED = ("storage:\n", "slurm: {health: {}}\nstorage:\n")
TESTBED = ("storage:\n", 'testbed: {nodes: "ctl,gpu-1"}\nstorage:\n')


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Return homes on Lustre, created by ctl, and a lab's space on Weka, created by the site."""
    return changed(STORED, tmp_path / "one", (HOMES, LUSTRE), (SPACE, WEKA), CHECKED)


def test_nodes_have_no_unit_for_a_mount_of_the_site(cluster: Cluster) -> None:
    node = cluster.nodes["gpu-1"]
    assert not [file.path for file in files_for(cluster, node) if "home" in file.path and "systemd" in file.path]
    assert {mount.path for mount in mounts_for(cluster, node)}.isdisjoint({"/home", "/weka"})


def test_it_is_expected_with_the_file_system_type_of_the_kernel(cluster: Cluster) -> None:
    node = cluster.nodes["gpu-1"]
    assert [(mount.path, mount.fstype, mount.units) for mount in theirs_for(cluster, node)] == [
        ("/weka", "wekafs", ()),
        ("/home", "lustre", ()),
    ]
    assert [mount.path for mount in used_for(cluster, node)] == [
        "/mnt/red",
        "/weka",
        "/home",
        "/mnt/scratch",
        "/mnt/plain",
    ]


def test_a_node_without_the_mount_is_drained(cluster: Cluster) -> None:
    assert settings(cluster, cluster.nodes["gpu-2"])["mounts"] == ["/mnt/red", "/weka", "/home", "/mnt/scratch"]


@pytest.fixture
def filesets(tmp_path: Path) -> Cluster:
    """Return homes and a lab's space that are directories of one GPFS."""
    homes, blue = FILESETS
    path = ('{path: "/home/{user}"', '{path: "/gpfs/home/{user}"')
    return changed(STORED, tmp_path / "filesets", (HOMES, homes), (SPACE, blue), path, CHECKED, TESTBED)


def test_directories_of_one_file_system_need_its_mount_once(filesets: Cluster) -> None:
    node, ctl = filesets.nodes["gpu-2"], filesets.nodes["ctl"]
    assert [(mount.path, mount.source, mount.fstype) for mount in theirs_for(filesets, node)] == [
        ("/gpfs", "the site's blue, homes", "gpfs")
    ]
    assert [mount.path for mount in used_for(filesets, node)] == ["/mnt/red", "/gpfs", "/mnt/scratch"]
    assert settings(filesets, node)["mounts"] == ["/mnt/red", "/gpfs", "/mnt/scratch"]
    # created only while the whole file system is mounted
    assert [(mount.path, mount.source) for mount in needed_for(filesets, ctl)] == [("/gpfs", "the site's homes")]
    assert {home.path for home in homes_for(filesets, ctl)} == {"/gpfs/home/ann", "/gpfs/home/bob"}
    assert links_for(filesets, ctl)["/srv/blue/share"] == "/gpfs/blue"


def test_a_testbed_has_a_volume_for_each_directory(filesets: Cluster) -> None:
    twin = stand_in(filesets, cgroup="v2")
    volumes = {container.name: container.volumes for container in spec_of(twin).containers}
    assert {volumes["gpu-1"]["blue"], volumes["gpu-1"]["homes"]} == {"/gpfs/blue", "/gpfs/home"}
    assert [mount.path for mount in theirs_for(twin, twin.nodes["gpu-1"])] == ["/gpfs/blue", "/gpfs/home"]


def test_links_of_labs_point_to_it(cluster: Cluster) -> None:
    assert links_for(cluster, cluster.nodes["ctl"])["/srv/blue/share"] == "/weka"


def test_homes_are_created_by_the_named_node_only_while_it_is_mounted(cluster: Cluster) -> None:
    ctl = cluster.nodes["ctl"]
    assert {home.path for home in homes_for(cluster, ctl)} == {"/home/ann", "/home/bob"}
    assert [mount.path for mount in needed_for(cluster, ctl)] == ["/home"]
    for name in ("gpu-1", "gpu-2"):
        assert homes_for(cluster, cluster.nodes[name]) == []
        assert needed_for(cluster, cluster.nodes[name]) == []
    # no node is named for the space on Weka: the site's own admins create the lab's directory
    assert [top.path for node in cluster.nodes.values() for top in tops_for(cluster, node) if "weka" in top.path] == []


def test_it_is_not_exported_by_that_node(cluster: Cluster) -> None:
    ctl = cluster.nodes["ctl"]
    assert exports_for(cluster, ctl) == []
    assert served_by(cluster, ctl) == ()
    assert "ctl" not in servers_of(cluster, cluster.nodes["gpu-1"]).values()


def test_the_first_head_that_mounts_it_runs_its_nightly_tasks(cluster: Cluster) -> None:
    found = {mount.export: worker(cluster, mount) for mount in cluster.mounts if mount.by_site}
    assert found == {"blue": ("ctl", "/weka"), "homes": ("ctl", "/home")}


def test_a_testbed_has_a_volume_for_it_and_a_node_that_creates_directories(tmp_path: Path) -> None:
    cluster = changed(STORED, tmp_path / "two", (HOMES, LUSTRE), (SPACE, WEKA), TESTBED)
    twin = stand_in(cluster, cgroup="v2")
    volumes = {container.name: container.volumes for container in spec_of(twin).containers}
    assert volumes["gpu-1"]["blue"] == "/weka"
    assert volumes["gpu-1"]["homes"] == "/home"
    gpu = twin.nodes["gpu-1"]
    # the stand-in has another type
    assert [(mount.path, mount.fstype) for mount in theirs_for(twin, gpu)] == [("/weka", ""), ("/home", "")]
    assert [top.path for top in tops_for(twin, twin.nodes["ctl"]) if top.path == "/weka"] == ["/weka"]
    assert folders_for(twin, gpu) == folders_for(cluster, cluster.nodes["gpu-1"])
