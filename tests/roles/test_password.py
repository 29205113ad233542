"""`gpupool password` sets a password on login nodes; it is only on the screen and in one standard input."""

import re
import sys
from pathlib import Path

import empty_nodes
import pytest
from inventories import INVENTORY, changed

from gpupool import cli
from gpupool.cli import password
from gpupool.run.password import new_password
from gpupool.run.runner import DeployRunner
from gpupool.target import Target

WORD = re.compile(r"[a-z2-9]{4}(-[a-z2-9]{4}){3}\n")


@pytest.fixture
def sdumont(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """The nodes of an inventory whose users have a first password."""
    target = Target(changed(INVENTORY / "santos-dumont", tmp_path), None, {})
    monkeypatch.setattr(password, "announced_runner", lambda *_: DeployRunner(target, "password"))
    return target


def give(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["gpupool", "password", "anywhere", *arguments])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def knows(monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    answer = empty_nodes._answer
    monkeypatch.setattr(
        empty_nodes,
        "_answer",
        lambda raw, received: [state] if "getent -s files shadow" in raw else answer(raw, received),
    )


@pytest.mark.promise("SDU-005")
@pytest.mark.usefixtures("sdumont")
def test_the_password_is_printed_once_and_sent_to_heads_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    knows(monkeypatch, "none")
    assert give(monkeypatch, "usuario1") == 0
    shown = capsys.readouterr()
    assert WORD.fullmatch(shown.out)
    secret = shown.out.strip()
    assert secret not in shown.err
    texts = {
        name: [text for text in received.texts if secret in text] for name, received in empty_nodes.RECEIVED.items()
    }
    assert {name: held for name, held in texts.items() if held} == {"login": [f"usuario1:{secret}\n"]}
    assert not [raw for received in empty_nodes.RECEIVED.values() for raw in received.commands if secret in raw]


@pytest.mark.usefixtures("sdumont")
def test_a_password_that_a_user_chose_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    knows(monkeypatch, "own")
    assert give(monkeypatch, "usuario1") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "usuario1 has a password; --reset replaces it" in shown.err
    assert not any(received.texts and any(received.texts) for received in empty_nodes.RECEIVED.values())
    assert give(monkeypatch, "usuario1", "--reset") == 0
    assert WORD.fullmatch(capsys.readouterr().out)


@pytest.mark.usefixtures("sdumont")
def test_without_the_user_no_password_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert give(monkeypatch, "usuario1") == 1  # nothing is applied there yet
    shown = capsys.readouterr()
    assert (shown.out, "run gpupool apply" in shown.err) == ("", True)
    assert give(monkeypatch, "u-unknown1") == 2
    assert "there is no user 'u-unknown1'" in capsys.readouterr().err
    assert give(monkeypatch, "usuario1", "--limit", "sdumont4000") == 2


def test_no_two_passwords_are_equal() -> None:
    assert len({new_password() for _ in range(100)}) == 100
    assert all(WORD.fullmatch(f"{new_password()}\n") for _ in range(100))
