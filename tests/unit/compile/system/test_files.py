"""The files of a node besides Slurm's: names, users, storage, packages, units, devices."""

import re
from dataclasses import replace

import pytest
from inventories import INVENTORY, cluster_at

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_for
from gpupool.compile.system.devices import fake_devices, fences_sessions
from gpupool.compile.system.names import hosts
from gpupool.compile.system.packages import packages_for
from gpupool.compile.system.people import groups_for, people_for
from gpupool.compile.system.slurmd import slurmd_default
from gpupool.compile.system.ssh import files as ssh_files
from gpupool.compile.system.storage import links_for, local_for, mounts_for, stand_ins_for
from gpupool.testbed.overlay import stand_in
from gpupool.unix import PEOPLE_GID
from gpupool.wanted import Directory

FOLDERS = sorted(path.parent.name for path in INVENTORY.glob("*/inventory.py"))


@pytest.fixture(scope="module")
def twin(skynet: Cluster) -> Cluster:
    return stand_in(skynet, cgroup="v2")


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_node_has_the_addresses_of_all_nodes(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    lines = [line.split() for line in hosts(cluster).splitlines() if line[:1].isdigit() and not line.startswith("127.")]
    assert {words[1]: words[0] for words in lines} == {
        node.fqdn: node.address for node in cluster.nodes.values() if node.address
    }
    assert all(
        node.name in words for node, words in zip((n for n in cluster.nodes.values() if n.address), lines, strict=True)
    )


def test_a_host_name_is_never_an_address_of_the_loopback(skynet: Cluster) -> None:
    """127.0.1.1, as written by installers, would make slurmd connect to itself."""
    assert re.findall(r"^127\..*$", hosts(skynet), re.MULTILINE) == ["127.0.0.1 localhost"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_users_are_the_same_on_all_nodes(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    groups = groups_for(cluster)
    seen = {
        tuple((person.name, person.uid, person.group) for person in people_for(cluster, node))
        for node in cluster.nodes.values()
        if node.managed
    }
    assert len(seen) == 1
    assert all(group in groups for _, _, group in next(iter(seen)))
    assert len(set(groups.values())) == len(groups)


def test_homes_are_in_the_mounted_directory(skynet: Cluster) -> None:
    assert {person.home for person in people_for(skynet, skynet.nodes["sky1"])} == {
        f"/nethome/{name}" for name in skynet.users
    }
    assert {person.home for person in people_for(skynet, skynet.nodes["multivac"])} == {
        f"/home/{name}" for name in skynet.users
    }


def test_users_without_a_lab_share_a_group() -> None:
    cluster = cluster_at(INVENTORY / "arandu")
    name, user = next(iter(cluster.users.items()))
    homeless = replace(cluster, users={**cluster.users, name: replace(user, gid=None)})
    assert groups_for(homeless)["people"] == PEOPLE_GID
    assert people_for(homeless, cluster.controllers[0])[0].group == "people"


def test_mounts_are_hard_and_wait_for_the_network(skynet: Cluster) -> None:
    points = mounts_for(skynet, skynet.nodes["sky1"])
    options = "_netdev,hard,noatime,vers=4.2,nosuid,nodev"
    assert {(point.fstype, point.options) for point in points} == {("nfs4", options)}
    assert ("/coc/pskynet1", "multivac.cc.gatech.edu:/pskynet1") in [(point.path, point.source) for point in points]
    assert stand_ins_for(skynet, skynet.nodes["multivac"]) == []


def test_a_server_does_not_mount_its_exports(skynet: Cluster) -> None:
    for mount in skynet.mounts:
        assert mount.server not in mount.nodes


def test_a_testbed_uses_bind_mounts_for_shared_directories(twin: Cluster) -> None:
    client = {point.path: point for point in mounts_for(twin, twin.nodes["sky1"])}
    server = {point.path: point for point in stand_ins_for(twin, twin.nodes["multivac"])}
    assert client["/coc/pskynet1"].source == server["/pskynet1"].source == "/testbed/pskynet1"
    assert {(point.fstype, point.options) for point in (*client.values(), *server.values())} == {("none", "bind")}


def test_links_are_on_the_nodes_that_use_them(skynet: Cluster) -> None:
    assert links_for(skynet, skynet.nodes["sky1"])["/srv/share4"] == "/coc/pskynet4"
    assert links_for(skynet, skynet.nodes["multivac"]) == {}


def test_a_directory_of_users_directories_can_be_entered_by_all() -> None:
    """Its mode is that of the users' directories; every user must be able to enter it."""
    cluster = cluster_at(INVENTORY / "arandu")
    assert local_for(cluster, cluster.nodes["dgx01"]) == [Directory("/output", mode="1777")]
    assert local_for(cluster, cluster.controllers[0]) == []


def test_each_role_has_its_packages(skynet: Cluster) -> None:
    assert {"slurmd", "munge", "slurm-client", "git"} <= set(packages_for(skynet, skynet.nodes["a40-01"]))
    assert {"slurmctld", "slurmdbd", "mariadb-server"} <= set(packages_for(skynet, skynet.nodes["marvin"]))
    assert {"slurmctld", "slurmd"} <= set(packages_for(skynet, skynet.nodes["vicki"]))
    assert {"sackd", "screen"} <= set(packages_for(skynet, skynet.nodes["sky1"]))
    assert "munge" not in packages_for(skynet, skynet.nodes["multivac"])
    for node in skynet.nodes.values():
        packages = packages_for(skynet, node)
        assert list(packages) == sorted(set(packages))
        # each is reached by SSH, has the time of its zone, and has CA certificates
        assert {"openssh-server", "systemd-timesyncd", "tzdata", "ca-certificates"} <= set(packages)


def test_sessions_are_kept_from_gpus_only_where_jobs_run(skynet: Cluster) -> None:
    """A user who may open all GPUs through a job is not hindered elsewhere."""
    arandu = cluster_at(INVENTORY / "arandu")
    assert fences_sessions(skynet, skynet.nodes["a40-01"])
    assert not fences_sessions(skynet, skynet.nodes["marvin"])
    assert not fences_sessions(arandu, arandu.nodes["dgx01"])


def test_zfs_is_installed_on_nodes_with_pools(stored: Cluster) -> None:
    with_zfs = {name for name, node in stored.nodes.items() if "zfsutils-linux" in packages_for(stored, node)}
    assert with_zfs == {"fs1", "fs2", "gpu-1", "gpu-2"}


def test_nodes_use_all_controllers(skynet: Cluster, twin: Cluster) -> None:
    assert 'SLURMD_OPTIONS="--conf-server 10.66.2.1,10.66.2.2"' in slurmd_default(skynet)
    assert 'SLURMD_OPTIONS="--conf-server 10.66.2.1,10.66.2.2 -b"' in slurmd_default(twin)


def test_device_files_are_created_only_without_a_driver(skynet: Cluster, twin: Cluster) -> None:
    assert fake_devices(skynet, skynet.nodes["a40-01"]) == {}
    assert fake_devices(twin, twin.nodes["a40-01"]) == {f"/dev/nvidia{minor}": minor for minor in range(8)}
    assert fake_devices(twin, twin.nodes["sky1"]) == {}
    text = {file.path: file.text for file in files_for(twin, twin.nodes["vicki"])}["/etc/tmpfiles.d/gpupool-gpus.conf"]
    assert re.findall(r"^c (\S+) 0666 root root - 195:(\d)$", text, re.MULTILINE) == [
        (f"/dev/nvidia{minor}", str(minor)) for minor in range(4)
    ]


def _sshd(cluster: Cluster, node: Node) -> str:
    (file,) = ssh_files(cluster, node)
    return file.text


def test_variables_of_ssh_clients_are_accepted_only_where_the_inventory_allows_it(skynet: Cluster) -> None:
    assert "AcceptEnv SKY_VSC_LAUNCH\n" in _sshd(skynet, skynet.nodes["sky1"])
    assert "AcceptEnv" not in _sshd(skynet, skynet.nodes["a40-01"])
    assert "PasswordAuthentication yes\n" in _sshd(skynet, skynet.nodes["a40-01"])
    example = cluster_at(INVENTORY / "example")
    assert "PasswordAuthentication no\n" in _sshd(example, example.controllers[0])


def test_the_controller_waits_for_its_state(skynet: Cluster) -> None:
    """Only if the state is on a mount, and not on a directory whose name begins with the same letters."""
    unit = "/etc/systemd/system/slurmctld.service.d/gpupool.conf"

    def text(cluster: Cluster) -> str:
        return {file.path: file.text for file in files_for(cluster, cluster.controllers[0])}[unit]

    assert "RequiresMountsFor=/var/spool/slurm-state/skynet\n" in text(skynet)
    mount = next(mount for mount in skynet.mounts if mount.holds(skynet.slurm.state))
    beside = skynet.slurm.model_copy(update={"state": f"{mount.at}-other/skynet"})
    assert "RequiresMountsFor" not in text(replace(skynet, slurm=beside))


def test_daemons_are_restarted(skynet: Cluster) -> None:
    for node in skynet.nodes.values():
        for file in files_for(skynet, node):
            if file.path.endswith("service.d/gpupool.conf"):
                assert "Restart=on-failure\n" in file.text
                assert "StartLimitIntervalSec=0\n" in file.text


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_contains_a_secret_or_is_readable_by_mistake(folder: str) -> None:
    cluster = cluster_at(INVENTORY / folder)
    for node in cluster.nodes.values():
        for file in files_for(cluster, node):
            assert not re.search(r"PRIVATE KEY|StoragePass|password\s*=", file.text, re.IGNORECASE)
            # commands can be run by all users, or by admins
            command = file.path.startswith(
                ("/usr/local/bin/", "/usr/local/sbin/", "/usr/libexec/gpupool/", "/etc/slurm/gpupool/")
            )
            # sudo requires another mode
            usual = ("0440",) if file.path.startswith("/etc/sudoers.d/") else ("0644", "0600")
            assert file.mode == "0755" if command else file.mode in usual, file.path
            assert (file.mode == "0600") == (file.path == "/etc/slurm/slurmdbd.conf")
