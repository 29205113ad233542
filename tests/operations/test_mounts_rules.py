"""The rules behind mounts that need no node: options that a mount lacks, units, paths as the kernel writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.facts.mounts import as_in_mountinfo, mount_of
from gpupool.operations.mount_options import fixed, remountable
from gpupool.operations.units import MountEntry, options_of, unit_files, unit_name

#: As a kernel 6.12 says them.
INNER = (
    "rw,vers=4.2,rsize=524288,wsize=524288,namlen=255,hard,fatal_neterrors=none,proto=tcp,timeo=600,retrans=2,sec=sys,"
    "clientaddr=10.1.0.2,local_lock=none,addr=10.1.0.1"
)


def nfs(options: str = "rw,noatime", inner: str = INNER) -> str:
    return f"31 21 0:41 / /srv/a {options} shared:5 - nfs4 server:/a {inner}"


@pytest.mark.parametrize(
    ("wanted", "lacks"),
    [
        ("_netdev,hard,noatime,vers=4.2", []),
        ("hard,vers=4", []),
        ("hard,nfsvers=4.1", ["nfsvers=4.1"]),
        ("nconnect=1", []),
        ("nconnect=4", ["nconnect=4"]),
        ("soft", ["soft"]),
        ("timeo=600,retrans=5", ["retrans=5"]),
        # the server's own limit is no reason for a new mount, a smaller wish is
        ("rsize=1048576,wsize=524288", []),
        ("rsize=65536", ["rsize=65536"]),
        ("lookupcache=all", []),
        ("lookupcache=positive", ["lookupcache=positive"]),
        ("retry=10080,x-whatever", []),
        # of two that contradict each other the last one holds
        ("hard,vers=4.2,soft,vers=4.1", ["soft", "vers=4.1"]),
        ("vers=4.1,vers=4.2", []),
    ],
)
def test_what_only_a_new_mount_gives(wanted: str, lacks: list[str]) -> None:
    assert fixed(wanted, mount_of(nfs())) == lacks


@pytest.mark.parametrize(
    ("wanted", "options", "lacks"),
    [
        ("hard,noatime", "rw,noatime", []),
        ("hard,noatime,nosuid", "rw,noatime", ["nosuid"]),
        ("ro", "rw,noatime", ["ro"]),
        ("rw,relatime", "rw,relatime", []),
        ("noatime,atime", "rw", []),
        ("rw,ro", "rw", ["ro"]),
        ("hard", "ro,nosuid,noatime", ["rw", "suid"]),
    ],
)
def test_what_a_remount_gives(wanted: str, options: str, lacks: list[str]) -> None:
    assert remountable(wanted, mount_of(nfs(options))) == lacks


def test_a_bind_has_the_options_of_what_it_shows() -> None:
    bound = mount_of("31 21 0:41 /x /srv/a rw,relatime - tmpfs server:/x rw,size=1k")
    assert (fixed("bind", bound), remountable("bind,nosuid", bound)) == ([], [])


@given(some.text(some.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20))
def test_a_path_is_read_as_it_was_written(name: str) -> None:
    path = f"/{name}"
    written = as_in_mountinfo(path)
    assert not set(written) & set(" \t\n")
    assert mount_of(f"31 21 0:41 / {written} rw - nfs4 server:/a rw").path == path


WORD = some.from_regex(r"[a-z]{1,8}(=[a-z0-9.%]{1,6})?", fullmatch=True)


@given(some.lists(WORD, min_size=1, max_size=5), some.booleans())
def test_options_are_read_back_from_a_unit(words: list[str], automount: bool) -> None:
    mount = MountEntry("/srv/a", "server:/a", options=",".join(words), automount=automount)
    assert options_of(unit_files(mount)["srv-a.mount"]) == mount.options


def test_nothing_of_a_boot_waits_for_a_server() -> None:
    units = unit_files(MountEntry("/coc/a b", "server:/a", options="hard,vers=4.2", automount=True, timeout=30))
    mount, automount = units[unit_name("/coc/a b")], units[unit_name("/coc/a b", "automount")]
    assert "Options=hard,vers=4.2,nofail\nTimeoutSec=60\n" in mount
    # five failures in ten seconds would take the automount away, and people would write below it
    assert "StartLimitIntervalSec=0" in mount
    assert "StartLimitIntervalSec=0" in automount
    # df is to show it, from boot on
    assert "Wants=coc-a\\x20b.mount\n" in automount
    assert "TimeoutIdleSec" not in automount


def test_log_ins_do_not_wait_for_homes_at_boot() -> None:
    units = unit_files(MountEntry("/home", "server:/a", automount=True))
    assert "Wants=" not in units["home.automount"]


def test_what_a_service_cannot_start_without_is_tried_for_ever() -> None:
    mount = MountEntry("/var/spool/state", "server:/a", options="hard,retry=10080", timeout=0)
    (text,) = unit_files(mount).values()
    assert "TimeoutSec=infinity\n" in text
    assert "nofail" in text
    assert mount.patience == 30


def test_a_testbeds_binds_are_no_networks_business() -> None:
    (text,) = unit_files(MountEntry("/coc/a", "/testbed/a", "none", "bind")).values()
    assert "nofail" not in text
    assert "network" not in text
    assert "WantedBy=local-fs.target" in text
