"""The scripts for a first password, run here with fake commands."""

import os
import subprocess
from pathlib import Path

import pytest
import stand_ins

from gpupool.facts.passwords import Password
from gpupool.operations import passwords
from tests.operations.real_shell import do

PROGRAMS = {
    "getent": '[ -z "$SHADOW" ] || printf "%s\\n" "$SHADOW"',
    "chpasswd": 'printf "chpasswd %s: %s\\n" "$*" "$(cat)" >> "$LOG"',
    "chage": 'printf "chage %s\\n" "$*" >> "$LOG"; exit "${CHAGE:-0}"',
    "usermod": 'printf "usermod %s\\n" "$*" >> "$LOG"',
}


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file in which the fake commands record their arguments."""
    stand_ins.put(PROGRAMS, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("SHADOW", "ann:!:20000:0:99999:7:::")
    return tmp_path / "log"


@pytest.mark.parametrize(
    ("shadow", "state"),
    [
        ("", "absent"),
        ("ann:!:20000:0:99999:7:::", "none"),
        ("ann:!$y$abc:20000:0:99999:7:::", "none"),
        ("ann:*:20000:0:99999:7:::", "none"),
        ("ann::20000:0:99999:7:::", "none"),
        ("ann:$y$abc:0:0:99999:7:::", "first"),
        ("ann:$y$abc:20000:0:99999:7:::", "own"),
        ("ann:$y$abc::0:99999:7:::", "own"),
    ],
)
def test_the_kind_of_a_users_password_is_read(shadow: str, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHADOW", shadow)
    command = Password().command("ann").get_raw_value()
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, env=os.environ)
    assert Password().process(done.stdout.splitlines()) == state
    assert "abc" not in done.stdout


@pytest.mark.promise("SDU-005")
def test_the_password_expires_and_is_passed_on_standard_input(log: Path) -> None:
    (done,) = do(passwords.first, "ann", passwords.Secret("abcd"))
    assert done.returncode == 0
    assert log.read_text() == "chpasswd : ann:abcd\nchage -d 0 -- ann\n"
    assert "abcd" not in " ".join(done.args)
    assert "abcd" not in repr(passwords.Secret("abcd"))


def test_a_password_that_cannot_expire_is_locked(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAGE", "1")
    (done,) = do(passwords.first, "ann", passwords.Secret("abcd"))
    assert done.returncode == 1
    assert log.read_text().splitlines()[-1] == "usermod -L -- ann"
