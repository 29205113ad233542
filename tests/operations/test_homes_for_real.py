"""A user's odd files in the home do not delay other users: a real shell on real files; needs root, no node."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest
from opened import open_to_all

from gpupool.facts.homes import LARGEST, Homes
from gpupool.operations import homes
from gpupool.wanted import Folder
from tests.operations.real_shell import do, fact_here, twice

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs root on Linux"),
    pytest.mark.skipif(which("setpriv") is None, reason="needs setpriv"),
]
ANNE, BOB, CARL, LAB = 54011, 54021, 54031, 54001
OLD, NEW = "ssh-ed25519 AAAA old", "ssh-ed25519 BBBB new"


def home_of(place: Path, name: str, uid: int) -> Path:
    """Create a home with an empty .ssh, owned by the user."""
    (place / name / ".ssh").mkdir(parents=True)
    for folder in (place / name, place / name / ".ssh"):
        os.chown(folder, uid, LAB)
    return place / name


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Homes of Anne, whose file is odd in each test, and of Bob, who comes next in the list and has his key."""
    open_to_all(tmp_path)
    home_of(tmp_path, "anne", ANNE)
    keys = home_of(tmp_path, "bob", BOB) / ".ssh" / "authorized_keys"
    keys.write_text(f"{OLD}\n")
    os.chown(keys, BOB, LAB)
    return tmp_path


def wanted(place: Path, key: str = OLD) -> list[Folder]:
    names = {"anne": ANNE, "bob": BOB}
    return [Folder(f"{place}/{name}", uid, LAB, "0700", (key,)) for name, uid in names.items()]


def missing_server(keys: Path) -> None:
    """A link to a path that only other nodes mount."""
    keys.symlink_to("/nowhere/that/is/mounted/here")


def large(keys: Path) -> None:
    """A sparse file of 300 MB."""
    keys.touch()
    os.truncate(keys, 300_000_000)


def no_folder(keys: Path) -> None:
    """A file where .ssh should be."""
    keys.parent.rmdir()
    keys.parent.write_text("mine")


def linked_folder(keys: Path) -> None:
    """A .ssh in another place."""
    keys.parent.rmdir()
    keys.parent.symlink_to("/nowhere")


def just_too_large(keys: Path) -> None:
    """A file one byte larger than the limit."""
    keys.write_text("#" * (LARGEST + 1))


ODD: list[Callable[[Path], object]] = [
    os.mkfifo, Path.mkdir, lambda keys: keys.symlink_to("/dev/zero"), missing_server, large, no_folder, linked_folder,
    just_too_large,
]  # fmt: skip
NAMES = ["pipe", "directory", "endless", "another_server", "large", "no_folder", "linked_folder", "just_too_large"]


@pytest.mark.parametrize("put", ODD, ids=NAMES)
def test_special_files_belong_to_their_owner_and_delay_no_other_user(
    place: Path, put: Callable[[Path], object]
) -> None:
    put(place / "anne" / ".ssh" / "authorized_keys")
    found = fact_here(Homes, paths=[f"{place}/{name}" for name in ("anne", "bob", "carl")])
    assert {path.rpartition("/")[2]: (entry.uid, entry.keys) for path, entry in found.items()} == {
        "anne": (ANNE, None),
        "bob": (BOB, (OLD, "")),
    }
    assert do(homes.present, wanted(place)) == []
    # and a new user gets a home
    twice(homes.present, [*wanted(place), Folder(f"{place}/carl", CARL, LAB, "0700", (NEW,))])
    assert (place / "carl" / ".ssh" / "authorized_keys").read_text() == f"{NEW}\n"


ALL_READ = {
    "no_last_newline": f"{OLD}".encode(),
    "zero_bytes": b"\0\0\n\0" + OLD.encode() + b"\n",
    "not_utf8": b"\xff\xfe\n" + OLD.encode() + b"\n",
    "an_answers_end": f"{OLD}\ngpupool-end".encode(),
    "an_answers_form": f"home 0 0 700 none /home/bob\n{OLD}\n".encode(),
    "as_large_as_may_be": OLD.encode() + b"\n" + b"#" * (LARGEST - len(OLD) - 1),
    "empty": b"",
}


@pytest.mark.parametrize("has", ALL_READ.values(), ids=ALL_READ)
def test_a_key_is_appended_as_a_line_and_all_others_are_kept(place: Path, has: bytes) -> None:
    keys = place / "anne" / ".ssh" / "authorized_keys"
    keys.write_bytes(has)
    os.chown(keys, ANNE, LAB)
    if len(has) == LARGEST:
        assert do(homes.present, wanted(place)) == []
        return
    twice(homes.present, wanted(place, NEW))
    assert keys.read_bytes() == has + (b"\n" if has and not has.endswith(b"\n") else b"") + f"{NEW}\n".encode()
    assert sorted(path.name for path in keys.parent.iterdir()) == ["authorized_keys"]
    assert keys.lstat().st_uid == ANNE


def test_a_key_that_cannot_be_added_delays_no_other_user(place: Path) -> None:
    """Root's own .ssh in Anne's home: she may not write there, and no file is written there for her."""
    os.chown(place / "anne" / ".ssh", 0, 0)
    (done,) = do(homes.present, wanted(place, NEW))
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == f"{place}/anne: a key cannot be added"
    assert (place / "bob" / ".ssh" / "authorized_keys").read_text() == f"{OLD}\n{NEW}\n"
    assert list((place / "anne" / ".ssh").iterdir()) == []
