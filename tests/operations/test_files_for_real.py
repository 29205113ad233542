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
from gpupool.operations.files import put
from gpupool.wanted import Directory, File

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="GNU tools")
ME = {"owner": pwd.getpwuid(os.geteuid()).pw_name, "group": grp.getgrgid(os.getegid()).gr_name}


class LocalHost(FakeHost):
    def get_fact(self, fact_cls: Any, *args: Any, **kwargs: Any) -> Any:
        command = fact_cls().command(*args, **kwargs).get_raw_value()
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        return fact_cls().process(done.stdout.splitlines())


def scripts(**entries: Any) -> list[tuple[str, str]]:
    state = FakeState()
    with ctx_state.use(state), ctx_host.use(LocalHost(state, "here", {}, {})):
        return [(command.get_raw_value(), command.connector_arguments["_stdin"]) for command in put._inner(**entries)]


def run(script: str, stdin: str) -> subprocess.CompletedProcess[str]:
    # pyinfra ends what it sends with a line break
    return subprocess.run(["sh", "-c", script], input=f"{stdin}\n", capture_output=True, text=True, check=False)


def apply(**entries: Any) -> None:
    for script, stdin in scripts(**entries):
        done = run(script, stdin)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def entries(root: Path) -> dict[str, Any]:
    return {
        "directories": [Directory(f"{root}/d", mode="0750", **ME)],
        "files": [
            File(f"{root}/new/deep/a b's.conf", "no end of line", **ME),
            File(f"{root}/ü.conf", "zwölf\r\n\n$HOME `x` 'y'\n", mode="0600", **ME),
            File(f"{root}/empty", "", **ME),
            File(f"{root}/secret", "hush", mode="0400", secret=True, **ME),
        ],
        "links": {f"{root}/link to": "/no where", f"{root}/was": "/new"},
        "absent": {f"{root}/old": "ours"},
    }


def test_second_time_there_is_nothing_to_do(tmp_path: Path) -> None:
    (tmp_path / "was").symlink_to("/old")
    (tmp_path / "old").write_text("# ours\n")
    (tmp_path / "empty").write_text("not empty")
    apply(**entries(tmp_path))
    assert (tmp_path / "new/deep/a b's.conf").read_bytes() == b"no end of line"
    assert (tmp_path / "ü.conf").read_bytes() == "zwölf\r\n\n$HOME `x` 'y'\n".encode()
    assert (tmp_path / "secret").stat().st_mode & 0o7777 == 0o400
    assert (tmp_path / "d").stat().st_mode & 0o7777 == 0o750
    assert (tmp_path / "was").readlink() == Path("/new")
    assert {path.name for path in tmp_path.iterdir()} == {"d", "empty", "link to", "new", "secret", "was", "ü.conf"}
    assert scripts(**entries(tmp_path)) == []


def test_a_broken_upload_changes_nothing(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("old")
    files = [File(f"{tmp_path}/{name}", "new text", **ME) for name in ("a", "b")]
    ((script, stdin),) = scripts(files=files)
    done = subprocess.run(["sh", "-c", script], input=stdin[:-1], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path}/b: the upload was cut short; run again\n"
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


def test_no_run_places_what_another_one_has_staged(tmp_path: Path) -> None:
    """One is in its check, the other one stages another text, is refused, and leaves."""
    (tmp_path / "a").write_text("old")
    waits = f"touch {tmp_path}/staged; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    ((good, text),) = scripts(files=[File(f"{tmp_path}/a", "good", **ME)], check=("sh", "-c", waits))
    ((bad, other),) = scripts(files=[File(f"{tmp_path}/a", "bad", check=("false", "%s"), **ME)])
    first = subprocess.Popen(["sh", "-c", good], stdin=subprocess.PIPE, text=True)
    assert first.stdin
    first.stdin.write(f"{text}\n")
    first.stdin.close()
    until((tmp_path / "staged").exists, "the first one is in its check")
    assert run(bad, other).returncode == 1
    (tmp_path / "go").touch()
    assert first.wait() == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "good", "go": "", "staged": ""}


def test_what_a_check_refuses_does_not_arrive(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("good")
    ((script, stdin),) = scripts(files=[File(f"{tmp_path}/a", "bad", check=("grep", "-q", "good", "%s"), **ME)])
    done = run(script, stdin)
    assert done.stderr.splitlines()[-1] == f"{tmp_path}/a: refused by grep; the old file is kept"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "good"}


def test_the_text_travels_only_where_it_differs_and_may_be_shown(tmp_path: Path) -> None:
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
