"""Exports are limited to the addresses of the nodes that mount them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from inventories import INVENTORY, STORED, changed, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.compile.system.exports import exports_file, exports_for, nfs_conf
from gpupool.compile.system.storage import mounts_for, stand_ins_for
from gpupool.testbed.overlay import stand_in

FOLDERS = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


def test_the_file_has_the_syntax_of_exportfs(stored: Cluster) -> None:
    file = exports_file(stored, stored.nodes["fs1"])
    ours = "rw,sync,no_subtree_check"
    assert file.path == "/etc/exports.d/gpupool.exports"
    assert file.text.splitlines()[1:] == [
        f"/export/blue -{ours},root_squash,crossmnt,mountpoint 10.91.1.1 10.91.2.1 10.91.2.2",
        f"/export/plain -{ours},all_squash,crossmnt 10.91.2.1",
        f"/tank/labs/red -{ours},root_squash,crossmnt,mountpoint 10.91.1.1 10.91.2.1 10.91.2.2",
    ]


@pytest.mark.promise("SKY-083")
@pytest.mark.parametrize("folder", FOLDERS)
def test_only_nodes_that_mount_an_export_may_access_it(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    for mount in cluster.mounts:
        server = cluster.nodes[mount.server]
        given = [export for export in exports_for(cluster, server) if export.path == mount.path]
        addresses = {cluster.nodes[name].address for name in mount.nodes}
        if mount.entry.fs == "ceph":
            assert given == []
        elif None in addresses:  # they have no address before they are started
            assert [export.clients for export in given] == [(cluster.entry.network,)]
        else:
            assert [set(export.clients) for export in given] == [addresses]
            assert server.address not in given[0].clients
        assert all("root_squash" in export.options for export in given)
    texts = [exports_file(cluster, node).text for node in cluster.nodes.values()]
    assert not any("*" in text for text in texts)


def test_root_is_squashed_unless_the_export_disables_it(tmp_path: Path) -> None:
    cluster = changed(STORED, tmp_path, ("squash: all", "squash: none"))
    squashing = {export.path: export.options[3] for export in exports_for(cluster, cluster.nodes["fs1"])}
    assert squashing == {
        "/export/blue": "root_squash",
        "/export/plain": "no_root_squash",
        "/tank/labs/red": "root_squash",
    }


@pytest.mark.parametrize(("cpus", "threads"), [(0, 8), (1, 8), (4, 32), (16, 128), (64, 128)])
def test_the_number_of_threads_of_nfsd_follows_from_its_cpus(stored: Cluster, cpus: int, threads: int) -> None:
    text = nfs_conf(stored, replace(stored.nodes["fs1"], cpus=cpus)).text
    assert re.findall(r"^threads=(\d+)$", text, re.MULTILINE) == [str(threads)]


@pytest.mark.parametrize(
    ("versions", "three", "four", "fstype", "asked"),
    [("[4]", "n", "y", "nfs4", "4.2"), ("[3, 4]", "y", "y", "nfs4", "4.2"), ("[3]", "y", "n", "nfs", "3")],
)
def test_servers_and_clients_use_the_same_version(
    versions: str, three: str, four: str, fstype: str, asked: str, tmp_path: Path
) -> None:
    cluster = changed(STORED, tmp_path, ("  links:", f"  nfs_versions: {versions}\n  links:"))
    text = nfs_conf(cluster, cluster.nodes["fs1"]).text
    assert f"\nvers3={three}\nvers4={four}\n" in text
    mounts = mounts_for(cluster, cluster.nodes["gpu-1"])
    assert {(mount.fstype, re.findall(r"vers=([\d.]+)", mount.options)[0]) for mount in mounts} == {(fstype, asked)}


def test_options_of_an_export_come_after_ours(stored: Cluster) -> None:
    options = {mount.path: mount.options for mount in mounts_for(stored, stored.nodes["gpu-1"])}
    assert options["/home"] == "_netdev,hard,noatime,vers=4.2,nodev,nconnect=4,nosuid"
    assert options["/mnt/red"] == "_netdev,hard,noatime,vers=4.2,nosuid,nodev"


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("suid", "nodev,suid"),
        ("dev", "nosuid,dev"),
        ("suid, dev", "suid,dev"),
        ("noexec", "nosuid,nodev,noexec"),
        ("nodev", "nosuid,nodev"),
    ],
)
def test_setuid_programs_and_devices_have_no_effect_on_mounts_unless_the_inventory_allows_them(
    given: str, options: str, tmp_path: Path
) -> None:
    cluster = changed(STORED, tmp_path, ("options: [nconnect=4, nosuid]", f"options: [{given}]"))
    mounts = {mount.path: mount for mount in mounts_for(cluster, cluster.nodes["gpu-1"])}
    assert mounts["/home"].options == f"_netdev,hard,noatime,vers=4.2,{options}"


def test_mounts_are_automounts_except_for_slurmctlds_state() -> None:
    skynet = cluster_at(INVENTORY / "skynet")
    mounts = {mount.path: mount for mount in mounts_for(skynet, skynet.nodes["marvin"])}
    state = mounts.pop("/var/spool/slurm-state")
    # its unit waits for this mount, and systemd would not try a second time
    assert (state.automount, state.timeout) == (False, 0)
    assert "hard" in state.options.split(",")
    assert "retry=10080" in state.options.split(",")
    assert mounts
    assert {(mount.automount, mount.timeout) for mount in mounts.values()} == {(True, 30)}


def test_slurmctlds_state_is_in_no_labs_directory() -> None:
    skynet = cluster_at(INVENTORY / "skynet")
    (server,) = [mount.server for mount in skynet.mounts if mount.holds(skynet.slurm.state)]
    labs = {name for spaces in skynet.storage.spaces.values() for name in spaces.values()}
    assert not [mount.export for mount in skynet.mounts if mount.server == server and mount.export in labs]


def test_a_testbed_exports_only_between_machines() -> None:
    twin = stand_in(cluster_at(INVENTORY / "example"), cgroup="v2")
    files, login = twin.nodes["files"], twin.nodes["login1"]
    assert exports_for(twin, files) == []
    real = replace(twin, drivers=replace(twin.drivers, machines=frozenset(["files", "a40-01"])))
    assert {client for export in exports_for(real, files) for client in export.clients} == {
        real.nodes["a40-01"].address
    }
    assert stand_ins_for(real, files) == []
    assert {mount.fstype for mount in mounts_for(real, real.nodes["a40-01"])} == {"nfs4"}
    assert {mount.fstype for mount in mounts_for(real, login)} == {"none"}
