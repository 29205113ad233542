"""Tops of spaces, homes and users' folders, as data: the node that creates each, and its owner and mode."""

from dataclasses import replace
from pathlib import Path

import pytest
from inventories import STORED, changed, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.spaces import folders_for, homes_for, members_for, members_homes, tops_for
from gpupool.testbed.overlay import stand_in
from gpupool.wanted import Folder, Space

INVENTORIES = Path(__file__).parents[4] / "inventory"


@pytest.fixture(scope="module")
def sdumont() -> Cluster:
    return cluster_at(INVENTORIES / "santos-dumont")


def gid(cluster: Cluster, account: str) -> int:
    number = cluster.accounts[account].entry.gid
    assert number is not None
    return number


@pytest.mark.promise("SKY-090")
def test_the_export_of_a_lab_belongs_to_its_group(skynet: Cluster) -> None:
    mode = skynet.storage.space_rules.mode
    assert tops_for(skynet, skynet.nodes["hflash1"]) == [Space("/zfs/flash9", gid(skynet, "hoffman-lab"), mode)]


@pytest.mark.promise("SKY-056", "SKY-062", "SKY-090")
def test_a_shared_export_belongs_to_root_and_all_may_write(skynet: Cluster) -> None:
    top = next(top for top in tops_for(skynet, skynet.nodes["multivac"]) if top.path == "/pskynet1")
    assert (top.gid, top.mode) == (0, "1775")
    assert set(top.groups) == {gid(skynet, "cvmlp-lab"), gid(skynet, "hays-lab")}
    assert "acl" in packages_for(skynet, skynet.nodes["multivac"])
    assert "acl" not in packages_for(skynet, skynet.nodes["hflash1"])


@pytest.mark.promise("SKY-094")
def test_all_users_may_add_directories_if_the_export_allows_it(skynet: Cluster) -> None:
    assert Space("/zfs/microvac-store2/dataset", 0, "1777") in tops_for(skynet, skynet.nodes["microvac"])


def test_nodes_without_exports_create_no_tops(skynet: Cluster) -> None:
    assert [node.name for node in skynet.having("head", "compute") if tops_for(skynet, node)] == []


@pytest.mark.promise("SKY-055")
def test_in_a_testbed_without_the_server_another_node_creates_its_tops(skynet: Cluster) -> None:
    twin = stand_in(skynet, cgroup="v2")
    makers = {top.path: name for name, node in twin.nodes.items() for top in tops_for(twin, node)}
    assert "hflash1" not in twin.nodes
    assert makers["/coc/flash9"] == next(mount for mount in twin.mounts if mount.export == "flash9").nodes[0]
    assert makers["/pskynet1"] == "multivac"
    in_use = {export for spaces in twin.storage.spaces.values() for export in spaces.values()}
    assert len(makers) == len([mount for mount in twin.mounts if mount.export in in_use or mount.entry.mode])


def test_each_member_has_a_directory_with_their_name_in_each_space(skynet: Cluster) -> None:
    places = members_for(skynet, skynet.nodes["multivac"])
    shared = {path.rpartition("/")[2] for path in places if path.startswith("/pskynet1/")}
    assert shared == {user.name for user in skynet.users.values() if user.account in ("cvmlp-lab", "hays-lab")}
    assert places["/pskynet1/u-hays1"] == skynet.users["u-hays1"].uid
    assert members_for(skynet, skynet.nodes["sky1"]) == {}


@pytest.mark.promise("SKY-053", "SKY-054", "SKY-093")
def test_homes_are_created_on_their_server_and_local_ones_on_fileservers(skynet: Cluster) -> None:
    user = next(iter(skynet.users.values()))
    paths = {name: {home.path for home in homes_for(skynet, node)} for name, node in skynet.nodes.items()}
    assert {f"/export/nethome/{user.name}", f"/home/{user.name}"} <= paths["multivac"]
    assert f"/home/{user.name}" in paths["microvac"]
    assert f"/export/nethome/{user.name}" not in paths["microvac"]
    assert paths["sky1"] == paths["clippy"] == set()


def test_members_from_a_directory_have_homes_where_users_have_them(skynet: Cluster) -> None:
    cluster = replace(skynet, newcomers={"kira-lab": skynet.users["u-kira1"]})
    homes = {name: members_homes(cluster, cluster.nodes[name]) for name in ("multivac", "microvac", "sky1", "clippy")}
    assert homes == {
        "multivac": ["/export/nethome/{user}", "/home/{user}"],
        "microvac": ["/home/{user}"],
        "sky1": [],
        "clippy": [],
    }
    assert members_homes(skynet, skynet.nodes["multivac"]) == []


def test_no_local_home_is_created_where_no_user_logs_in(skynet: Cluster) -> None:
    closed = replace(skynet, access=skynet.access.model_copy(update={"fileserver_ssh": "admins"}))
    assert homes_for(closed, closed.nodes["microvac"]) == []


@pytest.mark.parametrize("role", ["controller", "backup-controller"])
def test_a_controller_has_homes_if_users_may_log_in(skynet: Cluster, role: str) -> None:
    node = replace(skynet.nodes["marvin"], name="other", roles=(role,))
    for access, homes in (("open", len(skynet.users)), ("admins", 0)):
        cluster = replace(skynet, access=skynet.access.model_copy(update={"controller_ssh": access}))
        assert len(homes_for(cluster, node)) == homes
        assert homes_for(cluster, replace(node, roles=("database",))) == []


@pytest.mark.parametrize("role", ["head", "compute", "gateway"])
def test_a_node_with_logins_and_without_the_export_has_local_homes(skynet: Cluster, role: str) -> None:
    node = replace(skynet.nodes["sky1"], name="other", roles=(role,))
    closed = skynet.access.model_copy(update={"controller_ssh": "admins", "fileserver_ssh": "admins"})
    homes = homes_for(replace(skynet, access=closed), node)
    assert {home.path for home in homes} == {f"/home/{name}" for name in skynet.users}


def test_a_directory_is_created_in_the_innermost_export_that_contains_it(tmp_path: Path) -> None:
    plain = 'plain: {server: fs1, path: /export/plain, mount_on: "gpu-1", squash: all}'
    cluster = changed(STORED, tmp_path, (plain, "inner: {server: fs2, path: /export/inner, at: /mnt/scratch/red}"))
    folders = {folder.path for folder in folders_for(cluster, cluster.nodes["fs2"])}
    assert folders == {"/export/inner/ann", "/zfs/fast/blue/bob"}


@pytest.mark.parametrize("path", ["/mnt/scratch/{user}", "/mnt/scratch/{account}/{user}/runs"])
def test_an_account_has_a_directory_only_directly_above_its_users(path: str, tmp_path: Path, stored: Cluster) -> None:
    cluster = changed(STORED, tmp_path, ("/mnt/scratch/{account}/{user}", path))
    assert [top for top in tops_for(cluster, cluster.nodes["fs2"]) if top.path.startswith("/zfs/fast")] == []
    paths = {top.path for top in tops_for(stored, stored.nodes["fs2"])}
    assert {path for path in paths if path.startswith("/zfs/fast")} == {"/zfs/fast/red", "/zfs/fast/blue"}


def test_homes_that_are_not_shared_are_on_every_node_with_logins() -> None:
    cluster = cluster_at(INVENTORIES / "arandu")
    home = cluster.storage.home.model_copy(update={"export": None})
    alone = replace(cluster, storage=cluster.storage.model_copy(update={"home": home}))
    user = next(iter(alone.users.values()))
    for node in alone.having("head", "compute"):
        assert user.home in {home.path for home in homes_for(alone, node)}


@pytest.mark.promise("ARA-011")
def test_every_user_has_a_folder_in_a_local_directory_of_the_node() -> None:
    cluster = cluster_at(INVENTORIES / "arandu")
    for node in cluster.having("compute"):
        assert {folder.path for folder in folders_for(cluster, node)} == {f"/output/{name}" for name in cluster.users}


@pytest.mark.promise("SDU-006", "SDU-007")
def test_a_project_has_a_folder_with_one_for_each_member(sdumont: Cluster) -> None:
    server = sdumont.nodes["sdumont-fs"]
    tops = {top.path: top for top in tops_for(sdumont, server)}
    assert tops["/scratch/projeto"] == Space("/scratch/projeto", 5001, "3770")
    assert "/prj/premiumproj" in tops
    folders = {folder.path: folder for folder in folders_for(sdumont, server)}
    assert folders["/scratch/projeto/usuario1"] == Folder("/scratch/projeto/usuario1", 20001, 5001, "2750")
    # the home is created as a home: from the skeleton, and only its owner may enter it
    assert "/prj/projeto/usuario1" not in folders
    homes = {home.path: home for home in homes_for(sdumont, server)}
    assert homes["/prj/projeto/usuario1"].mode == sdumont.storage.home.mode
