"""The site's files are kept before they are replaced, and restored: by a real shell, on real files."""

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeHost, FakeState

from gpupool.operations import former
from gpupool.operations.files import put
from gpupool.wanted import Directory, File

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="GNU tools")
ME = {"owner": pwd.getpwuid(os.geteuid()).pw_name, "group": grp.getgrgid(os.getegid()).gr_name}
LIBRARY = "/var/lib/gpupool"
CALLS = ("restore /", "rm -f -- /", "give_rights /", "rmdir ")


class Node(FakeHost):
    """A node whose `/var/lib/gpupool` is a folder of this test."""

    def get_fact(self, fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
        command = here(fact_cls().command(*args, **kwargs).get_raw_value())
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        return fact_cls().process(done.stdout.splitlines())


@pytest.fixture(autouse=True)
def library(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path_factory.mktemp("library")
    monkeypatch.setenv("TEST_LIBRARY", str(path))
    return path


def here(script: str) -> str:
    return script.replace(LIBRARY, os.environ["TEST_LIBRARY"])


def scripts(operation: Any, *args: Any, **kwargs: Any) -> list[tuple[str, str]]:
    state = FakeState()
    with ctx_state.use(state), ctx_host.use(Node(state, "here", {}, {})):
        commands = list(operation._inner(*args, **kwargs))
    return [(here(command.get_raw_value()), command.connector_arguments.get("_stdin", "")) for command in commands]


def run(script: str, stdin: str = "") -> None:
    done = subprocess.run(["sh", "-c", script], input=f"{stdin}\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def do(operation: Any, *args: Any, **kwargs: Any) -> None:
    for script, stdin in scripts(operation, *args, **kwargs):
        run(script, stdin)


def go_back() -> None:
    do(former.restored, read_first=[])
    do(former.removed)
    do(former.folders)
    do(former.forgotten)


def tree(top: Path) -> dict[str, tuple[Any, ...]]:
    """Return kind, owner, mode, time and content of everything below a folder; a folder's time is not compared."""
    found = {}
    for path in sorted(top.rglob("*")):
        now = path.lstat()
        what = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        when = 0 if path.is_dir() and not path.is_symlink() else now.st_mtime_ns
        found[str(path.relative_to(top))] = (now.st_mode, now.st_uid, now.st_gid, when, what)
    return found


def site(top: Path) -> Path:
    """Write the files of a site: other modes, old times, no text, a link, an empty directory."""
    (top / "slurm").mkdir(parents=True)
    (top / "slurm").chmod(0o2775)
    (top / "empty").mkdir()
    (top / "slurm/slurm.conf").write_bytes(b"ClusterName=sea\r\n# \xff\n")
    (top / "slurm/slurm.conf").chmod(0o664)
    (top / "slurm/secret").write_text("a password\n")
    (top / "slurm/secret").chmod(0o600)
    (top / "slurm/same").write_text("same\n")
    (top / "slurm/same").chmod(0o640)
    (top / "zone").symlink_to("/usr/share/zoneinfo/Asia/Tokyo")
    for name in ("slurm/slurm.conf", "slurm/secret", "slurm/same", "zone"):
        os.utime(top / name, ns=(1, 1_234_567_890_123_456_789), follow_symlinks=False)
    return top


def change(top: Path, text: str = "ClusterName=sea\n") -> dict[str, Any]:
    """Return what gpupool puts over them."""
    return {
        "directories": [Directory(f"{top}/slurm", mode="0755", **ME), Directory(f"{top}/state/a/b", **ME)],
        "files": [
            File(f"{top}/slurm/slurm.conf", text, **ME),
            File(f"{top}/slurm/secret", "socket\n", mode="0600", **ME),
            File(f"{top}/slurm/same", "same\n", mode="0644", **ME),
            File(f"{top}/empty/new", "new\n", **ME),
            File(f"{top}/units/x.d/drop-in", "new\n", **ME),
        ],
        "links": {f"{top}/zone": "/usr/share/zoneinfo/Etc/UTC", f"{top}/other": "/"},
    }


def test_the_way_back_restores_bytes_rights_times_links_and_directories(tmp_path: Path, library: Path) -> None:
    top = site(tmp_path / "etc")
    before = tree(top)
    do(put, **change(top))
    assert tree(top) != before
    do(put, **change(top, "ClusterName=sea\nKillWait=60\n"))
    go_back()
    assert tree(top) == before
    assert list(library.iterdir()) == []
    assert scripts(former.restored, read_first=[]) == scripts(former.removed) == scripts(former.forgotten) == []


def test_only_root_can_read_what_is_kept(tmp_path: Path, library: Path) -> None:
    do(put, **change(site(tmp_path / "etc")))
    kept = library / "before"
    assert kept.stat().st_mode & 0o777 == 0o700
    assert (kept / f"files{tmp_path}/etc/slurm/secret").read_text() == "a password\n"


@pytest.mark.parametrize("lines", range(1, 13))
def test_an_apply_that_was_killed_after_any_step_can_be_undone(tmp_path: Path, lines: int) -> None:
    top = site(tmp_path / "etc")
    before = tree(top)
    ((script, stdin),) = scripts(put, **change(top))
    steps = script.splitlines()
    first = next(at for at, line in enumerate(steps) if line.startswith("remember "))
    # the shell is killed: no trap runs, and staged files stay
    subprocess.run(
        ["sh", "-c", "\n".join([*steps[: first + lines], "kill -9 $$"])], input=f"{stdin}\n", text=True, check=False
    )
    do(put, **change(top))
    go_back()
    assert tree(top) == before


@pytest.mark.parametrize("lines", range(1, 7))
def test_a_way_back_that_was_killed_after_any_step_is_finished_by_the_next(tmp_path: Path, lines: int) -> None:
    top = site(tmp_path / "etc")
    before = tree(top)
    do(put, **change(top))
    left = lines
    for operation, arguments in ((former.restored, {"read_first": []}), (former.removed, {}), (former.folders, {})):
        for script, _ in scripts(operation, **arguments):
            steps = script.splitlines()
            calls = [
                at for at, line in enumerate(steps) if line.startswith(("restore /", "rm -f -- /", "give_", "rmdir"))
            ]
            if left <= len(calls):
                subprocess.run(["sh", "-c", "\n".join([*steps[: calls[left - 1] + 1], "kill -9 $$"])], check=False)
                left = 0
                break
            run(script)
            left -= len(calls)
        if not left:
            break
    assert not left
    go_back()
    assert tree(top) == before


def test_a_file_that_was_changed_since_gpupool_put_it_stays(tmp_path: Path) -> None:
    top = site(tmp_path / "etc")
    do(put, **change(top))
    (top / "empty/new").write_text("of an admin\n")
    go_back()
    assert (top / "empty/new").read_text() == "of an admin\n"
    assert not (top / "units").exists()


def test_the_site_s_latest_text_is_kept_if_a_run_was_killed_before_it_replaced_the_file(tmp_path: Path) -> None:
    top = site(tmp_path / "etc")
    ((script, stdin),) = scripts(put, files=[File(f"{top}/slurm/slurm.conf", "new\n", **ME)])
    steps = script.splitlines()
    killed = [*steps[: steps.index("write_record")], "kill -9 $$"]
    subprocess.run(["sh", "-c", "\n".join(killed)], input=f"{stdin}\n", text=True, check=False)
    (top / "slurm/slurm.conf").write_text("of the site, later\n")
    do(put, files=[File(f"{top}/slurm/slurm.conf", "new\n", **ME)])
    go_back()
    assert (top / "slurm/slurm.conf").read_text() == "of the site, later\n"
