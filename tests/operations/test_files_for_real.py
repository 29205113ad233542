"""The files operation and its fact, run by a real shell on real files: no node and no root needed."""

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pace import until
from pyinfra.context import ctx_host, ctx_state
from pyinfra_testing.util import FakeHost, FakeState

from gpupool.facts.files import Paths, PathState
from gpupool.facts.record import RECORD
from gpupool.operations.files import put, removed, removed_at_end, sha256_of
from gpupool.wanted import Directory, File

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="GNU tools")
ME = {"owner": pwd.getpwuid(os.geteuid()).pw_name, "group": grp.getgrgid(os.getegid()).gr_name}


class LocalHost(FakeHost):
    def get_fact(self, fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
        command = fact_cls().command(*args, **kwargs).get_raw_value()
        done = subprocess.run(["sh", "-c", with_record(command)], capture_output=True, text=True, check=False)
        return fact_cls().process(done.stdout.splitlines())


@pytest.fixture(autouse=True)
def record(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a separate record of installed files, instead of that of this machine."""
    path = tmp_path_factory.mktemp("record") / "gpupool/files"
    monkeypatch.setenv("TEST_RECORD", str(path))
    return path


def scripts(operation: Any = put, **entries: Any) -> list[tuple[str, str]]:
    state = FakeState()
    with ctx_state.use(state), ctx_host.use(LocalHost(state, "here", {}, {})):
        commands = list(operation._inner(**entries))
    return [
        (with_record(command.get_raw_value()), command.connector_arguments.get("_stdin", "")) for command in commands
    ]


def with_record(script: str) -> str:
    return script.replace(RECORD, os.environ["TEST_RECORD"])


def run(script: str, stdin: str) -> subprocess.CompletedProcess[str]:
    # pyinfra adds a line break to standard input
    return subprocess.run(["sh", "-c", script], input=f"{stdin}\n", capture_output=True, text=True, check=False)


def apply(operation: Any = put, **entries: Any) -> None:
    for script, stdin in scripts(operation, **entries):
        done = run(script, stdin)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def entries(root: Path) -> dict[str, Any]:
    return {
        "directories": [Directory(f"{root}/d", mode="0750", **ME)],
        "files": [
            File(f"{root}/new/deep/a b's.conf", "no end of line", **ME),
            File(f"{root}/ü.conf", "zwölf\r\n\n$HOME `x` 'y'\n", mode="0600", **ME),
            File(f"{root}/empty", "", **ME),
            File(f"{root}/closed", "hush", mode="0400", **ME),
        ],
        "links": {f"{root}/link to": "/no where", f"{root}/was": "/new"},
    }


def test_a_file_that_is_a_mount_point_is_written_and_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like a container's /etc/hosts: a mount point cannot be replaced by a rename."""
    programs, hosts = tmp_path / "bin", tmp_path / "hosts"
    programs.mkdir()
    (programs / "mountpoint").write_text(f'#!/bin/sh\n[ "$3" = {hosts} ]\n')
    (programs / "mountpoint").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    hosts.write_text("before\n")
    number = hosts.stat().st_ino
    apply(files=[File(str(hosts), "after\n", **ME), File(f"{tmp_path}/other", "text\n", **ME)])
    assert (hosts.read_text(), hosts.stat().st_ino) == ("after\n", number)
    assert {path.name for path in tmp_path.iterdir()} == {"bin", "hosts", "other"}


def test_a_second_run_has_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "was").symlink_to("/old")
    (tmp_path / "empty").write_text("not empty")
    apply(**entries(tmp_path))
    assert (tmp_path / "new/deep/a b's.conf").read_bytes() == b"no end of line"
    assert (tmp_path / "ü.conf").read_bytes() == "zwölf\r\n\n$HOME `x` 'y'\n".encode()
    assert (tmp_path / "closed").stat().st_mode & 0o7777 == 0o400
    assert (tmp_path / "d").stat().st_mode & 0o7777 == 0o750
    assert (tmp_path / "was").readlink() == Path("/new")
    assert {path.name for path in tmp_path.iterdir()} == {"d", "empty", "link to", "new", "closed", "was", "ü.conf"}
    assert scripts(**entries(tmp_path)) == []


def test_a_broken_upload_changes_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    files = [File(f"{tmp_path}/{name}", "new text", **ME) for name in ("a", "b")]
    ((script, stdin),) = scripts(files=files)
    done = subprocess.run(["sh", "-c", script], input=stdin[:-1], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}/b: the upload was incomplete; run again\n"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old", "b": "old"}


def test_leftovers_of_a_killed_run_do_no_harm(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("untouched")
    (tmp_path / "a.gpupool-new").symlink_to(target)
    gone = subprocess.Popen(["true"])
    gone.wait()
    for name in ("a", "l"):
        (tmp_path / f"{name}.{gone.pid}-0f.gpupool-new").symlink_to(target)
    (tmp_path / "l.gpupool-new").symlink_to(target)
    apply(files=[File(f"{tmp_path}/a", "new", **ME)], links={f"{tmp_path}/l": "/x"})
    assert target.read_text() == "untouched"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "elsewhere", "l"]


def test_no_run_installs_a_file_that_another_has_staged(tmp_path: Path) -> None:
    """One run is in its check; another run stages another text, is refused, and ends."""
    (tmp_path / "a").write_text("old")
    waits = f"touch {tmp_path}/staged; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    ((good, text),) = scripts(files=[File(f"{tmp_path}/a", "good", **ME)], check=("sh", "-c", waits))
    ((bad, other),) = scripts(files=[File(f"{tmp_path}/a", "bad", **ME)], check=["false"])
    first = subprocess.Popen(["sh", "-c", good], stdin=subprocess.PIPE, text=True)
    assert first.stdin
    first.stdin.write(f"{text}\n")
    first.stdin.close()
    until((tmp_path / "staged").exists, "the first one is in its check")
    assert run(bad, other).returncode == 1
    (tmp_path / "go").touch()
    assert first.wait() == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "good", "go": "", "staged": ""}


def test_a_file_that_its_check_refuses_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("good")
    check = ["sh", "-c", f'grep good "{tmp_path}/a$GPUPOOL_NEW" || {{ echo no good; exit 1; }}']
    ((script, stdin),) = scripts(files=[File(f"{tmp_path}/a", "bad", **ME)], check=check)
    done = run(script, stdin)
    assert done.stderr.splitlines()[-1] == f"{tmp_path}/a: refused, nothing is replaced: no good"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "good"}


def test_the_text_of_a_file_is_read_only_if_it_differs_and_may_be_shown(tmp_path: Path) -> None:
    for name in ("same", "other", "hidden"):
        (tmp_path / name).write_text("text")
    shown = {
        f"{tmp_path}/same": "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1",
        f"{tmp_path}/other": "",
    }
    host = LocalHost(FakeState(), "here", {}, {})
    found: dict[str, PathState] = host.get_fact(
        Paths, paths=[f"{tmp_path}/{n}" for n in ("same", "other", "hidden", "gone")], shown=shown
    )
    assert {Path(path).name: state.text for path, state in found.items()} == {
        "same": None,
        "other": "text",
        "hidden": None,
    }


def test_files_that_leave_the_inventory_are_removed_from_the_node(tmp_path: Path, record: Path) -> None:
    stays, goes, link = (str(tmp_path / name) for name in ("stays", "goes it's", "link"))
    apply(files=[File(stays, "a", **ME), File(goes, "b", **ME)], links={link: "/no where"})
    assert record.stat().st_mode & 0o777 == 0o644
    assert [line.split("\t")[0] for line in record.read_text().splitlines()] == sorted([stays, goes, link])
    assert scripts(removed, wanted=[stays, goes, link], keep_below="/etc/slurm") == []
    apply(removed, wanted=[stays], keep_below="/etc/slurm")
    assert [path.name for path in tmp_path.iterdir()] == ["stays"]
    assert record.read_text() == f"{stays}\t{sha256_of('a')}\n"
    assert scripts(removed, wanted=[stays], keep_below="/etc/slurm") == scripts(removed_at_end, wanted=[stays]) == []


def test_files_below_a_kept_directory_are_removed_last(tmp_path: Path) -> None:
    apply(files=[File(f"{tmp_path}/slurm/topology.conf", "a", **ME)])
    assert scripts(removed, wanted=[], keep_below=f"{tmp_path}/slurm") == []
    apply(removed_at_end, wanted=[])
    assert list((tmp_path / "slurm").iterdir()) == []


@pytest.mark.parametrize("change", ["by hand", "replaced", "directory"])
def test_files_that_are_not_ours_are_kept_and_named(change: str, tmp_path: Path) -> None:
    path = tmp_path / "a"
    if change == "replaced":
        path.write_text("of the distribution")
    apply(files=[File(str(path), "ours", **ME)])
    apply(files=[File(str(path), "ours, a second time", **ME)])
    if change == "by hand":
        path.write_text("of an admin")
    elif change == "directory":
        path.unlink()
        path.mkdir()
    assert scripts(removed, wanted=[], keep_below="/etc/slurm") == []
    ((script, stdin),) = scripts(removed_at_end, wanted=[])
    done = run(script, stdin)
    assert done.returncode == 1
    why = "it replaced an existing file" if change == "replaced" else "it was changed since gpupool wrote it"
    assert done.stderr.splitlines()[-1].startswith(f"{path}: no longer in the inventory, but {why}: remove it, or")
    assert path.exists()


def test_a_recorded_file_that_no_longer_exists_is_forgotten(tmp_path: Path, record: Path) -> None:
    apply(files=[File(f"{tmp_path}/a", "ours", **ME)])
    (tmp_path / "a").unlink()
    apply(removed, wanted=[], keep_below="/etc/slurm")
    assert record.read_text() == ""


def test_a_killed_run_has_recorded_the_file_it_was_about_to_install(tmp_path: Path, record: Path) -> None:
    """A file never exists without a record: it would never be removed."""
    ((script, stdin),) = scripts(files=[File(f"{tmp_path}/a", "ours", **ME)])
    assert run(script.replace("\nplace ", "\nkill -9 $$\nplace "), stdin).returncode == -9
    assert record.read_text() == f"{tmp_path}/a\t{sha256_of('ours')}\n"
    assert not (tmp_path / "a").exists()
    apply(files=[File(f"{tmp_path}/a", "ours", **ME)])
    apply(removed, wanted=[], keep_below="/etc/slurm")
    assert not (tmp_path / "a").exists()


def test_a_record_that_cannot_be_written_stops_before_any_file(tmp_path: Path, record: Path) -> None:
    record.parent.mkdir()
    record.mkdir()
    (record / "in the way").touch()
    ((script, stdin),) = scripts(files=[File(f"{tmp_path}/a", "ours", **ME)])
    done = run(script, stdin)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"{record}: cannot be written: ")
    assert list(tmp_path.iterdir()) == []
