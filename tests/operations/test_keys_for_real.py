"""A key that leaves the inventory leaves the user's file, which keeps the user's lines: a real shell on real files."""

import os
import sys
from pathlib import Path
from shutil import which

import pytest
from opened import open_to_all

from gpupool.operations import keys
from tests.operations.real_shell import do, twice

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux"),
    pytest.mark.skipif(which("setpriv") is None, reason="needs setpriv"),
]
ANNE, LAB = 54011, 54001
OLD, NEW, MINE = "ssh-ed25519 AAAA anne@desk", "ssh-ed25519 BBBB anne@desk", "ssh-ed25519 CCCC anne@home"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose file has a key of the inventory twice, one with options, and a key of the user."""
    open_to_all(tmp_path)
    folder = tmp_path / "anne" / ".ssh"
    folder.mkdir(parents=True)
    (folder / "authorized_keys").write_text(f"# mine\n{OLD}\nno-pty ssh-ed25519 AAAA other comment\n{MINE}\n")
    for path in (folder.parent, folder, folder / "authorized_keys"):
        os.chown(path, ANNE, LAB)
    return folder.parent


def test_a_key_leaves_with_the_inventory_and_the_users_own_lines_stay(home: Path, tmp_path: Path) -> None:
    record, file = str(tmp_path / "state" / "keys"), home / ".ssh" / "authorized_keys"
    twice(keys.managed, {str(home): [OLD]}, record=record)
    before = file.read_text()
    twice(keys.managed, {str(home): [OLD, NEW]}, record=record)
    assert file.read_text() == before
    twice(keys.managed, {str(home): [NEW]}, record=record)
    assert file.read_text() == f"# mine\n{MINE}\n"
    assert (file.stat().st_uid, file.stat().st_gid) == (ANNE, LAB)


def test_keys_of_a_removed_user_leave_and_a_key_that_the_user_adds_again_stays(home: Path, tmp_path: Path) -> None:
    record, file = str(tmp_path / "state" / "keys"), home / ".ssh" / "authorized_keys"
    twice(keys.managed, {str(home): [OLD]}, record=record)
    twice(keys.managed, {}, record=record)
    assert file.read_text() == f"# mine\n{MINE}\n"
    file.write_text(f"{OLD}\n")
    assert do(keys.managed, {}, record=record) == []
    assert file.read_text() == f"{OLD}\n"


def test_a_file_behind_a_link_is_not_changed(home: Path, tmp_path: Path) -> None:
    record, file = str(tmp_path / "state" / "keys"), home / ".ssh" / "authorized_keys"
    twice(keys.managed, {str(home): [OLD]}, record=record)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    before = elsewhere.read_text()
    assert do(keys.managed, {}, record=record) == []
    assert elsewhere.read_text() == before
