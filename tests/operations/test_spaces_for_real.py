"""Tops of spaces, users' folders and homes, by a real shell on real files: needs root and setfacl, no node."""

import os
import sys
from pathlib import Path
from shutil import which

import pytest
from opened import open_to_all

from gpupool.operations import homes, spaces
from gpupool.wanted import Folder, Space
from tests.operations.real_shell import do, run_as, twice

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux"),
    pytest.mark.skipif(which("setpriv") is None, reason="needs setpriv"),
]
with_acl = pytest.mark.skipif(which("setfacl") is None, reason="needs setfacl (package acl)")
ANNE, BOB, LAB, OTHER = 54011, 54021, 54001, 54002


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder that every user can enter."""
    return open_to_all(tmp_path)


def shown(path: Path) -> tuple[int, int, str]:
    """Return owner, group and mode."""
    stat = path.lstat()
    return stat.st_uid, stat.st_gid, f"{stat.st_mode & 0o7777:04o}"


@pytest.mark.promise("SKY-090", "SKY-055")
def test_a_member_creates_their_own_folder_and_others_neither_create_nor_remove_one(place: Path) -> None:
    top = place / "export" / "a b"
    twice(spaces.tops, [Space(str(top), LAB)])
    assert shown(top) == (0, LAB, "3775")
    assert run_as(ANNE, LAB, "mkdir", top / "anne").returncode == 0
    assert shown(top / "anne")[:2] == (ANNE, LAB)
    assert run_as(BOB, LAB, "rmdir", top / "anne").returncode != 0
    assert run_as(BOB, OTHER, "mkdir", top / "bob").returncode != 0


@with_acl
@pytest.mark.promise("SKY-090")
def test_two_labs_share_an_export_by_acl_and_their_files_have_their_groups(place: Path) -> None:
    top = place / "shared"
    twice(spaces.tops, [Space(str(top), 0, "1775", (LAB, OTHER))])
    for uid, gid in ((ANNE, LAB), (BOB, OTHER)):
        assert run_as(uid, gid, "mkdir", top / str(uid)).returncode == 0
        assert shown(top / str(uid))[:2] == (uid, gid)
    assert run_as(54031, 54003, "mkdir", top / "stranger").returncode != 0
    # one lab leaves: files of its members stay, and they cannot create new ones
    twice(spaces.tops, [Space(str(top), LAB, "3775")])
    assert shown(top) == (0, LAB, "3775")
    assert run_as(BOB, OTHER, "mkdir", top / "more").returncode != 0
    assert shown(top / str(BOB))[:2] == (BOB, OTHER)
    # the lab returns
    twice(spaces.tops, [Space(str(top), 0, "1775", (LAB, OTHER))])
    assert shown(top) == (0, 0, "1775")


@pytest.mark.parametrize(
    ("why", "message"),
    [
        ("Operation not supported", "its file system does not support ACLs (on ZFS: zfs set acltype=posixacl)"),
        ("Disk quota exceeded", "setfacl: Disk quota exceeded"),
    ],
)
def test_a_failed_setfacl_is_reported_with_the_reason(
    place: Path, monkeypatch: pytest.MonkeyPatch, why: str, message: str
) -> None:
    """With a fake setfacl that fails."""
    (place / "bin").mkdir()
    (place / "bin" / "setfacl").write_text(f"#!/bin/sh\necho 'setfacl: {why}' >&2; exit 1\n")
    (place / "bin" / "setfacl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}/bin", prepend=":")
    (done,) = do(spaces.tops, [Space(f"{place}/top", 0, "1775", (LAB, OTHER))])
    assert (done.returncode, done.stderr) == (1, f"{place}/top: {message}\n")


def test_a_real_file_in_the_place_of_a_top_is_refused_and_kept(place: Path) -> None:
    (place / "top").write_text("mine")
    with pytest.raises(Exception, match="is a file, in the place of a directory; move it away"):
        do(spaces.tops, [Space(f"{place}/top", LAB)])
    assert (place / "top").read_text() == "mine"


def test_folders_of_users_are_created_once_and_never_changed_again(place: Path) -> None:
    wanted = [Folder(f"{place}/output/anne", ANNE, LAB), Folder(f"{place}/output/bob", BOB, LAB, "2750")]
    twice(spaces.folders, wanted)
    assert [shown(place / "output" / name) for name in ("anne", "bob")] == [(ANNE, LAB, "0700"), (BOB, LAB, "2750")]
    (place / "output" / "anne").chmod(0o755)
    (place / "output" / "anne" / "kept").write_text("")
    assert do(spaces.folders, wanted) == []
    assert (place / "output" / "anne" / "kept").exists()


def test_a_link_in_the_place_of_a_folder_is_not_followed(place: Path) -> None:
    victim = place / "victim"
    victim.mkdir()
    (place / "anne").symlink_to(victim)
    assert do(spaces.folders, [Folder(f"{place}/anne", ANNE, LAB)]) == []
    assert shown(victim)[0] == 0


def test_a_home_is_complete_and_owned_by_its_user_and_parents_can_be_entered(place: Path) -> None:
    home = place / "user" / "example.org" / "anne"
    twice(
        homes.present,
        [Folder(str(home), ANNE, LAB, "0700", ("ssh-ed25519 AAAA anne",))],
        skeleton={".bashrc": "# ü first\n"},
    )
    assert shown(home) == (ANNE, LAB, "0700")
    assert (home / ".bashrc").read_text() == "# ü first\n"
    assert shown(home / ".bashrc")[:2] == (ANNE, LAB)
    assert run_as(ANNE, LAB, "cat", home / ".ssh" / "authorized_keys").stdout == "ssh-ed25519 AAAA anne\n"
    assert run_as(BOB, LAB, "ls", home).returncode != 0


def test_many_homes_need_several_commands(place: Path) -> None:
    wanted = [Folder(f"{place}/home/u{number}", 54100 + number, LAB) for number in range(230)]
    done = do(homes.present, wanted, skeleton={".bashrc": "x\n"})
    assert [run.returncode for run in done] == [0, 0, 0]
    assert all((Path(home.path) / ".bashrc").read_text() == "x\n" for home in wanted)
