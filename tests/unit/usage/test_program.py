"""The program on a node, and its answers to remote requests."""

import errno
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from shipped import ship

from gpupool.compile.template import fill
from gpupool.programs.usage import __main__ as program
from gpupool.programs.usage import count, note, report, tree

FILE = "disk-usage.txt"
ROOT = Path(__file__).parents[3]
#: As on a node: the programs, their shared modules and the standard library, and no other modules.
START = (
    f"import sys, runpy; sys.path[:0] = [{str(ROOT / 'gpupool/programs')!r}, {str(ROOT)!r}]; "
    "runpy.run_module('usage', run_name='__main__', alter_sys=False)"
)
#: The same with a small limit on open files.
FEW = ["sh", "-c", 'ulimit -n 20; exec "$@"', "sh", sys.executable, "-I", "-c", START]


def env(folder: Path) -> dict[str, str]:
    """Return the environment in which the program keeps its state below a folder, as systemd sets it."""
    return {**os.environ, "STATE_DIRECTORY": str(folder / "state")}


def recorded_kib(folder: Path) -> int:
    read = note.parse((folder / FILE).read_text())
    assert read
    return read[1]


@pytest.fixture
def space(tmp_path: Path) -> Path:
    for name in ("u-one", "u-two"):
        (tmp_path / "space" / name).mkdir(parents=True)
        (tmp_path / "space" / name / "data").write_bytes(b"x" * 100_000)
    return tmp_path / "space"


def test_the_report_has_the_figures_of_the_files(space: Path) -> None:
    count.count(str(space), 1, FILE, time.time(), print)
    (space / "u-new").mkdir()
    *lines, last = [json.loads(line) for line in report.report(str(space), 1, FILE)]
    assert [(line["path"], line["kib"]) for line in lines] == [(n, recorded_kib(space / n)) for n in ("u-one", "u-two")]
    assert last == {"top": str(space), "missing": 1}


def test_the_report_names_the_directories_that_the_last_count_left_out(space: Path, tmp_path: Path) -> None:
    """Also those of an old file; a new user has none yet."""
    count.count(str(space), 1, FILE, time.time(), print)
    (space / "u-one" / FILE).unlink()
    (space / "u-one" / FILE).mkdir()
    (space / "new\nline").mkdir()
    (space / "new\nline" / FILE).symlink_to("/etc/passwd")
    counted = count.count(str(space), 1, FILE, time.time(), print)
    report.keep(tmp_path / "state" / "usage", str(space), counted.uncounted)
    (space / "u-new").mkdir()
    left = report.kept(tmp_path / "state" / "usage", str(space))
    assert left == counted.uncounted
    lines = [json.loads(line) for line in report.report(str(space), 1, FILE, left)]
    whys = {line["path"]: line["why"] for line in lines if "why" in line}
    assert whys == {
        "u-one": f"{FILE} is not written: {FILE} is a directory of another owner",
        r"new\x0aline": f"{FILE} is not written: {FILE} is a link of another owner",
    }
    assert {line["owner"] for line in lines if "why" in line} == {(space / "u-one").owner()}
    assert [line["path"] for line in lines if "kib" in line] == ["u-two"]
    assert lines[-1] == {"top": str(space), "missing": 1}
    assert report.kept(tmp_path / "state" / "usage", "/somewhere/else") == []


def test_the_program_runs_alone_and_logs_what_it_left_out(space: Path, tmp_path: Path) -> None:
    settings = {
        "file": FILE,
        "count": [{"path": str(tmp_path / "gone"), "levels": 1}, {"path": str(space), "levels": 1}],
        "purge": [],
        "audit": [],
    }
    (tmp_path / "usage.json").write_text(json.dumps(settings))

    def runs(word: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-c", START, word, str(tmp_path / "usage.json")],
            capture_output=True, text=True, check=False, env=env(tmp_path),
        )  # fmt: skip

    ran = runs("count")
    assert ran.returncode == 1
    first, second, *_ = ran.stdout.splitlines()
    assert first == f"{tmp_path}/gone: skipped: its file system does not answer within 20 s, or does not exist"
    assert re.fullmatch(rf"{re.escape(str(space))}: counted in \d+ s", second)
    assert recorded_kib(space / "u-two") > 100
    lines = [json.loads(line) for line in runs("report").stdout.splitlines()]
    assert [line.get("path", "trouble" if "trouble" in line else "") for line in lines] == [
        *("trouble", "u-one", "u-two", ""),
    ]


def test_directories_are_closed_again(space: Path, tmp_path: Path) -> None:
    """In a separate process, with a small limit on open files: some libraries close files late."""
    for number in range(60):
        (space / f"u-{number}" / "inner").mkdir(parents=True)
    (space / "u-one" / FILE).mkdir()  # even where nothing is written
    tree_of = {"path": str(space)}
    settings = {
        "file": FILE,
        "count": [{**tree_of, "levels": 2}],
        "purge": [{**tree_of, "seconds": 86400, "every": 86400, "keep": 1}],
    }
    (tmp_path / "usage.json").write_text(json.dumps(settings))
    for arguments in (["count"], ["report"], ["purge", "--dry"]):
        ran = subprocess.run(
            [*FEW, arguments[0], str(tmp_path / "usage.json"), *arguments[1:]],
            capture_output=True, text=True, check=False, env=env(tmp_path),
        )  # fmt: skip
        assert "open files" not in ran.stdout + ran.stderr
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_tree_that_is_too_deep_is_left_out_without_a_failure(space: Path, tmp_path: Path) -> None:
    """In a separate process, with a small limit on open files: a tree of thousands of levels has the same effect."""
    (space / "u-one" / "/".join("d" * 40)).mkdir(parents=True)
    settings = {"file": FILE, "count": [{"path": str(space), "levels": 1}]}
    (tmp_path / "usage.json").write_text(json.dumps(settings))
    ran = subprocess.run(
        [*FEW, "count", str(tmp_path / "usage.json")], capture_output=True, text=True, check=False, env=env(tmp_path)
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    why = "not counted, because of d: Too many open files"
    assert f"{space}/u-one: {why}" in ran.stdout.splitlines()
    (left,) = report.kept(tmp_path / "state" / "usage", str(space))
    assert (left.path, left.why) == ("u-one", why)
    assert not (space / "u-one" / FILE).exists()
    assert recorded_kib(space / "u-two") > 100


def test_a_purge_logs_every_file_and_begins_with_a_list(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = tmp_path / "log"
    monkeypatch.setattr(program, "STATE", tmp_path / "state")
    monkeypatch.setattr(program, "LOGS", logs)
    settings = {"purge": [{"path": str(space), "seconds": 0, "every": 86400, "keep": 1}]}
    verbs = []
    for _ in range(2):
        assert program.run_purge(settings, dry=False)
        (log,) = logs.iterdir()
        verbs.append([line.split("\t")[1] for line in log.read_text().splitlines()])
    assert verbs == [["would remove file"] * 2, ["would remove file"] * 2 + ["remove file"] * 2]
    assert capsys.readouterr().out.splitlines() == [
        f"{space}: this is the first run, so nothing is removed; {logs} lists what the next run will remove",
        f"{space}: would be removed: 2 files and links (200.0K), 0 directories",
        f"{space}: removed: 2 files and links (200.0K), 0 directories",
    ]


def test_a_purge_that_cannot_remove_a_file_fails(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(program, "STATE", tmp_path / "state")
    monkeypatch.setattr(program, "LOGS", tmp_path / "log")
    settings = {"purge": [{"path": str(space), "seconds": 0, "every": 86400, "keep": 1}]}
    program.run_purge(settings, dry=False)
    monkeypatch.setattr(os, "unlink", refuse)
    assert not program.run_purge(settings, dry=False)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"{space}: removed: 0 files and links (0.0K), 0 directories; 2 failed"


@given(some.one_of(some.binary(max_size=20), some.text(max_size=20).map(str.encode)))
def test_any_name_is_shown_in_one_reversible_line(name: bytes) -> None:
    shown = tree.shown(os.fsdecode(name))
    assert shown.isprintable()
    assert re.sub(rb"\\x(..)", lambda match: bytes.fromhex(match[1].decode()), shown.encode()) == name


def test_the_purge_imports_no_file_of_the_working_directory(space: Path, tmp_path: Path) -> None:
    """An admin, in a directory where a user has left Python files, lists the files that would be purged."""
    for name in ("usage", "json", "argparse", "os", "encodings"):
        (space / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    home, settings = tmp_path / "lib", tmp_path / "usage.json"
    ship("usage", home)
    settings.write_text(json.dumps({"file": FILE, "count": [], "purge": [], "audit": []}))
    command = tmp_path / "gpupool-purge"
    command.write_text(fill("usage-purge", home=home, settings=settings))
    done = subprocess.run(["sh", command, "--dry"], cwd=space, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "ran").exists()
