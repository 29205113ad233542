"""The unit files of mounts for systemd: their names and contents."""

import subprocess
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as some
from inventories import INVENTORY, cluster_at

from gpupool.compile.system.mounts import unit_name, with_units
from gpupool.compile.system.storage import mounts_for
from gpupool.wanted import Mount


def unit_texts(mount: Mount) -> dict[str, str]:
    return {unit.path.removeprefix("/etc/systemd/system/"): unit.text for unit in with_units(mount).units}


@given(
    some.lists(
        some.text(some.characters(codec="utf-8", exclude_characters="/\n\0"), min_size=1, max_size=6), min_size=1
    )
)
def test_units_of_different_paths_have_different_names(parts: list[str]) -> None:
    name = unit_name("/" + "/".join(parts)).removesuffix(".mount")
    read = name.replace("-", "/").encode().decode("unicode_escape").encode("latin-1").decode()
    assert read == "/".join(parts)


@pytest.mark.skipif(which("systemd-escape") is None, reason="needs systemd-escape")
@pytest.mark.parametrize("path", ["/coc/pskynet1", "/srv/sha-re 4", "/a/.b/c", "/.a", "/ü", "/a_b:c%d", "/"])
def test_systemd_gives_mount_units_the_same_names(path: str) -> None:
    output = subprocess.run(
        ["systemd-escape", "--path", "--suffix=mount", path], capture_output=True, text=True, check=True
    )
    assert unit_name(path) == output.stdout.strip()


def test_no_boot_waits_for_a_server() -> None:
    units = unit_texts(Mount("/coc/a b", "server:/a", options="hard,vers=4.2", automount=True, timeout=30))
    mount, automount = units[unit_name("/coc/a b")], units[unit_name("/coc/a b", "automount")]
    assert "Options=hard,vers=4.2,nofail\nTimeoutSec=60\n" in mount
    # five failures in ten seconds would stop the automount, and users would write below the mount point
    assert "StartLimitIntervalSec=0" in mount
    assert "StartLimitIntervalSec=0" in automount
    # df shows it from boot on
    assert "Wants=coc-a\\x20b.mount\n" in automount
    assert "TimeoutIdleSec" not in automount


@pytest.mark.promise("AAU-053")
def test_ceph_is_mounted_at_first_access_too() -> None:
    cluster = cluster_at(INVENTORY / "aau-ai-cloud")
    mounts = [mount for node in cluster.nodes.values() for mount in mounts_for(cluster, node) if mount.fstype == "ceph"]
    assert {(mount.path, mount.automount) for mount in mounts} == {("/user", True)}


def test_logins_do_not_wait_for_homes_at_boot() -> None:
    units = unit_texts(Mount("/home", "server:/a", automount=True))
    assert "Wants=" not in units["home.automount"]


def test_a_mount_that_a_service_requires_is_tried_forever() -> None:
    mount = Mount("/var/spool/state", "server:/a", options="hard,retry=10080", timeout=0)
    (text,) = unit_texts(mount).values()
    assert "TimeoutSec=infinity\n" in text
    assert "nofail" in text
    assert mount.patience == 30


def test_bind_mounts_of_a_testbed_do_not_wait_for_the_network() -> None:
    (text,) = unit_texts(Mount("/coc/a", "/testbed/a", "none", "bind")).values()
    assert "nofail" not in text
    assert "network" not in text
    assert "WantedBy=local-fs.target" in text
