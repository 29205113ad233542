"""The rules of mounts that need no node: options that a mount lacks, units, paths in the kernel's notation."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gpupool.facts.mounts import as_in_mountinfo, mount_of
from gpupool.operations.mounts.options import fixed, remountable

#: As printed by a kernel 6.12.
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
        # the server's own limit does not require a new mount, a smaller size in the inventory does
        ("rsize=1048576,wsize=524288", []),
        ("rsize=65536", ["rsize=65536"]),
        ("lookupcache=all", []),
        ("lookupcache=positive", ["lookupcache=positive"]),
        ("retry=10080,x-whatever", []),
        *((f"{name}=7", [f"{name}=7"]) for name in ("acregmin", "acregmax", "acdirmin", "acdirmax", "timeo")),
        ("sec=krb5p", ["sec=krb5p"]),
        ("sec=sys,timeo=600,retrans=2", []),
        ("wsize=65536", ["wsize=65536"]),
        # the last of two contradicting options wins
        ("hard,vers=4.2,soft,vers=4.1", ["soft", "vers=4.1"]),
        ("vers=4.1,vers=4.2", []),
    ],
)
def test_options_that_need_a_new_mount_are_found(wanted: str, lacks: list[str]) -> None:
    assert fixed(wanted, mount_of(nfs())) == lacks


@pytest.mark.parametrize(
    ("kind", "inner", "lacks"),
    [
        ("nfs", "rw,vers=3,hard", ["vers=4.2"]),
        ("nfs4", "rw,vers=4.1,hard", ["vers=4.2"]),
        # if the kernel does not print the version, or the mount is not NFS, there is nothing to compare
        ("nfs4", "rw,hard", []),
        ("cifs", "rw,vers=3.1.1,hard", []),
    ],
)
def test_only_options_that_the_kernel_shows_for_nfs_are_compared(kind: str, inner: str, lacks: list[str]) -> None:
    mount = mount_of(f"31 21 0:41 / /srv/a rw,noatime shared:5 - {kind} server:/a {inner}")
    assert fixed("hard,vers=4.2", mount) == lacks


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
        ("hard,nodev", "rw", ["nodev"]),
        ("hard,noexec", "rw,noexec", []),
        ("hard,suid,dev,exec", "rw,nosuid,nodev,noexec", ["suid", "dev", "exec"]),
        ("nosuid,nodev,noexec,suid,dev,exec", "rw", []),
    ],
)
def test_options_that_need_a_remount_are_found(wanted: str, options: str, lacks: list[str]) -> None:
    assert remountable(wanted, mount_of(nfs(options))) == lacks


def test_a_bind_mount_has_the_options_of_its_source() -> None:
    bound = mount_of("31 21 0:41 /x /srv/a rw,relatime - tmpfs server:/x rw,size=1k")
    assert (fixed("bind", bound), remountable("bind,nosuid", bound)) == ([], [])
    assert fixed("bind,soft", mount_of(nfs())) == []


@given(some.text(some.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20))
def test_a_path_is_read_as_it_was_written(name: str) -> None:
    path = f"/{name}"
    written = as_in_mountinfo(path)
    assert not set(written) & set(" \t\n")
    assert mount_of(f"31 21 0:41 / {written} rw - nfs4 server:/a rw").path == path
