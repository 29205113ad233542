"""A disk that is full or read-only: the reason names the file and the disk, and no file is half written.

Tested with a real shell on a small tmpfs, in a separate mount namespace: needs root that may mount.
"""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeState

from gpupool.operations import files, homes, spaces
from gpupool.wanted import Directory, File, Folder, Space
from tests.operations.real_shell import LocalHost

pytestmark = pytest.mark.skipif(
    subprocess.run(
        ["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    ).returncode
    != 0,
    reason="needs root that may mount",
)
LARGE = "x" * 200_000


def ends(disk: Path, options: str, operation: Any, *args: Any, **kwargs: Any) -> tuple[str, list[str]]:
    """Run an operation on a disk with these options; return the last message, and the files on the disk."""
    state = FakeState()
    with ctx_state.use(state), ctx_host.use(LocalHost(state, "here", {}, {})):
        (command,) = operation._inner(*args, **kwargs)
    script = f'mount -t tmpfs -o {options} none "$1" && sh -c "$2"; code=$?; find "$1" -mindepth 1; exit $code'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", str(disk), command.get_raw_value()],
        input=command.connector_arguments.get("_stdin", ""), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr.splitlines()[-1], done.stdout.splitlines()


def test_a_file_on_a_full_disk_is_an_error(tmp_path: Path) -> None:
    end = ends(tmp_path, "size=64k", files.put, [File(f"{tmp_path}/a", "a\n"), File(f"{tmp_path}/b", LARGE)])
    why = f"{tmp_path}/b: cannot be written: No space left on device (on the disk at {tmp_path})"
    assert end == (why, [])


def test_a_directory_on_a_read_only_disk_is_an_error(tmp_path: Path) -> None:
    end = ends(tmp_path, "ro", files.put, directories=[Directory(f"{tmp_path}/a/b")])
    assert end == (f"{tmp_path}/a/b: cannot be created: Read-only file system (on the disk at {tmp_path})", [])


def test_a_home_on_a_full_disk_is_an_error(tmp_path: Path) -> None:
    home = Folder(f"{tmp_path}/anne", 54011, 54001)
    end = ends(tmp_path, "size=64k", homes.present, [home], skeleton={".bashrc": LARGE})
    why = f"{tmp_path}/anne: cannot be created: No space left on device (on the disk at {tmp_path})"
    assert end == (why, [])


def test_a_top_on_a_disk_without_inodes_is_an_error(tmp_path: Path) -> None:
    end = ends(tmp_path, "nr_inodes=1", spaces.tops, [Space(f"{tmp_path}/top", 54001)])
    assert end == (f"{tmp_path}/top: cannot be created: No space left on device (on the disk at {tmp_path})", [])
