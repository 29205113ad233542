"""Users are warned in their own directory before files are deleted, and other users see no names."""

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest
from inventories import STORED, changed

from gpupool.compile.system import spaces, usage
from gpupool.programs.usage import purge, soon
from gpupool.programs.usage.purge import Rule

DAY = 86400


def run(top: Path, days: float, *, dry: bool = False, warn: bool = True, keep: int = 1) -> list[str]:
    """Purge files older than 60 days at a time in some days, warning 7 days before; return the log."""
    log: list[str] = []
    rule = Rule(str(top), 60 * DAY, DAY, keep, warn=7 * DAY)
    purge.purge(rule, time.time() + days * DAY, log.append, dry, warn)
    return log


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    top = tmp_path / "scratch"
    (top / "ann" / "run").mkdir(parents=True)
    (top / "bob").mkdir()
    (top / "ann" / "run" / "secret-name").write_bytes(b"x" * 10_000)
    (top / "ann" / "link").symlink_to("/etc/passwd")
    return top


def test_the_warning_is_written_in_the_last_days_only(scratch: Path) -> None:
    run(scratch, 52)
    assert not (scratch / "ann" / soon.FILE).exists()
    run(scratch, 54)
    text = (scratch / "ann" / soon.FILE).read_text()
    assert " 2 files and links below this directory will be removed (12" in text
    assert "not been changed for 60 days. To list them" in text
    oldest = (scratch / "ann" / "link").lstat().st_mtime
    assert f"first on {time.strftime('%Y-%m-%d', time.localtime(oldest + 60 * DAY))}:" in text
    assert "secret-name" not in text
    assert not (scratch / "bob" / soon.FILE).exists()
    status = (scratch / "ann" / soon.FILE).stat()
    assert (status.st_uid, status.st_mode & 0o777) == (os.getuid(), 0o644)


def test_its_command_lists_the_files_to_be_removed(scratch: Path) -> None:
    run(scratch, 54)
    text = (scratch / "ann" / soon.FILE).read_text()
    (command,) = re.findall("^  (find .*)$", text, re.MULTILINE)
    # as if 54 days had passed: files older than that are not affected
    now = command.replace("53 days ago", "1 days ago")
    for word, expected in ((now, set()), (command.replace("53 days ago", "1 day"), {"./run/secret-name", "./link"})):
        done = subprocess.run(["sh", "-c", word], cwd=scratch / "ann", capture_output=True, text=True, check=True)
        assert set(done.stdout.split()) - {f"./{soon.FILE}"} == expected


def test_the_warning_is_removed_when_it_no_longer_applies(scratch: Path) -> None:
    run(scratch, 54)
    run(scratch, 61)
    assert sorted(path.name for path in (scratch / "ann").iterdir()) == []


def test_the_first_run_which_only_lists_warns_of_all_files(scratch: Path) -> None:
    run(scratch, 61, dry=True)
    assert " 2 files and links" in (scratch / "ann" / soon.FILE).read_text()
    assert (scratch / "ann" / "run" / "secret-name").exists()


def test_by_hand_no_warning_is_written(scratch: Path) -> None:
    run(scratch, 54, dry=True, warn=False)
    assert not (scratch / "ann" / soon.FILE).exists()


def test_each_user_of_an_account_is_warned_in_their_own_directory(scratch: Path) -> None:
    run(scratch, 54, keep=2)
    assert (scratch / "ann" / "run" / soon.FILE).exists()
    assert not (scratch / "ann" / soon.FILE).exists()


@pytest.mark.parametrize("kind", ["link", "directory", "file"])
def test_a_users_entry_of_that_name_is_kept(scratch: Path, tmp_path: Path, kind: str) -> None:
    place, victim = scratch / "ann" / soon.FILE, tmp_path / "victim"
    victim.write_text("precious")
    if kind == "link":
        place.symlink_to(victim)
    elif kind == "directory":
        place.mkdir()
    else:
        if os.geteuid():
            pytest.skip("needs root: a file of somebody else")
        place.write_text("mine")
        os.chown(place, 20001, 20001)
    log = run(scratch, 54)
    assert any("not written: purge-soon.txt is" in line for line in log)
    assert victim.read_text() == "precious"
    assert kind != "file" or place.read_text() == "mine"


def test_login_shells_show_the_warning_if_a_variable_names_the_directory(scratch: Path, tmp_path: Path) -> None:
    plain = '    - {path: "/mnt/scratch/{account}/{user}", quota: {standard: 25T, premium: 50T}}'
    named = plain.replace("quota", "env: SCRATCH, quota")
    warned = ("not_updated_for: 60d}", "not_updated_for: 60d, warn_before: 7d}")
    for name, changes, times in (("without", [(plain, named)], 0), ("with", [(plain, named), warned], 1)):
        cluster = changed(STORED, tmp_path / name, *changes)
        (text,) = (file.text for file in spaces.files(cluster, cluster.nodes["ctl"]))
        assert text.count(soon.FILE) == times
    run(scratch, 54)
    shown = text[text.index("case $- in *i*)", text.index("control characters are removed")) :]
    shown = shown[: shown.index("esac") + len("esac")]

    def log_in(flag: str) -> str:
        env = {"SCRATCH": str(scratch / "ann"), "PATH": os.environ["PATH"]}
        return subprocess.run(
            ["sh", flag, "-c", shown], env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        ).stdout

    assert f"2 files and links below {scratch}/ann will be removed" in log_in("-i")
    assert log_in("-u") == ""
    # in a directory that several users write to, another user's file may be in its place
    (scratch / "ann" / soon.FILE).unlink()
    (scratch / "ann" / soon.FILE).write_text("one\n\x1b]0;mine\x07\x1b[2J" + "x" * 5000 + "\nthree\n")
    assert "]0;mine[2Jxx" in log_in("-i")
    assert "\x1b" not in log_in("-i")
    assert len(log_in("-i")) <= 600


def test_only_rules_with_a_warning_have_its_setting(tmp_path: Path) -> None:
    warned = ("not_updated_for: 60d}", "not_updated_for: 60d, warn_before: 7d}")
    for name, changes, expected in (("without", [], None), ("with", [warned], 7 * DAY)):
        cluster = changed(STORED, tmp_path / name, *changes)
        (text,) = (file.text for file in usage.files(cluster, cluster.nodes["fs2"]) if file.path == usage.SETTINGS)
        (rule,) = json.loads(text)["purge"]
        assert rule.get("warn") == expected
