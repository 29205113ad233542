"""The command line for a node, run by real shells here; tests/testbed/test_logins.py has tcsh, fish and sudo."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import put

from gpupool.remote.command import LONGEST, NO_SUDO, SUDO_REFUSES, output_of, refusal, remote_command

ROOT = {"id": "echo 0"}
USER = {"id": "echo 1000"}
SUDO = 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"'


def ran(
    line: str, programs: dict[str, str], folder: Path, shell: str = "bash", stdin: bytes = b"", path: str = ""
) -> "subprocess.CompletedProcess[bytes]":
    put(programs, folder / "bin")
    environment = {"PATH": f"{folder}/bin:{path or '/usr/bin:/bin'}", "LANG": "de_DE.UTF-8", "LANGUAGE": "de"}
    return subprocess.run([shell, "-c", line], env=environment, input=stdin, capture_output=True, check=False)


@pytest.mark.parametrize("shell", ["bash", "dash"])
@pytest.mark.parametrize("programs", [ROOT, {**USER, "sudo": SUDO}])
def test_input_output_and_status_are_those_of_the_script(shell: str, programs: dict[str, str], tmp_path: Path) -> None:
    done = ran(remote_command("cat\necho 'why!' >&2\nexit 7\n"), programs, tmp_path, shell, b"in\0\xff put")
    assert (done.returncode, output_of(done.stdout), done.stderr) == (7, b"in\0\xff put", b"why!\n")


def test_the_locale_is_the_same_on_all_nodes(tmp_path: Path) -> None:
    done = ran(remote_command('echo "$LC_ALL $LANGUAGE"'), ROOT, tmp_path)
    assert output_of(done.stdout) == b"C.UTF-8 \n"


def test_the_output_of_start_up_files_is_left_out(tmp_path: Path) -> None:
    line = remote_command("echo answer")
    assert output_of(ran(f"printf welcome; {line}", ROOT, tmp_path).stdout) == b"answer\n"
    assert output_of(b"This account is currently not available.\n") is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arguments")


@given(arguments=st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=3))
def test_arguments_are_passed_unchanged(folder: Path, arguments: list[str]) -> None:
    line = remote_command(["printf", "%s|", *arguments])
    assert not set("\n!\\") & set(line), "login shells read these differently"
    assert output_of(ran(line, ROOT, folder).stdout) == b"".join(f"{text}|".encode() for text in arguments or [""])


def test_a_missing_sudo_is_distinguished_from_a_failed_script(tmp_path: Path) -> None:
    put({}, tmp_path / "bin")
    for program in ("sh", "base64"):
        (tmp_path / "bin" / program).symlink_to(f"/usr/bin/{program}")
    done = ran(remote_command("touch changed"), USER, tmp_path, shell="/bin/bash", path=f"{tmp_path}/bin")
    assert (done.returncode, output_of(done.stdout)) == (NO_SUDO, None)
    assert str(refusal(done.returncode, "u-lab1")).startswith("u-lab1 is not root, and the node has no sudo")


def test_a_sudo_that_refuses_is_distinguished_from_a_failed_script(tmp_path: Path) -> None:
    refuses = ran(remote_command("echo never"), {**USER, "sudo": "exit 1"}, tmp_path)
    assert (refuses.returncode, output_of(refuses.stdout)) == (SUDO_REFUSES, None)
    assert "become root without a password" in str(refusal(SUDO_REFUSES, "u-lab1"))
    fails = ran(remote_command("exit 1"), {**USER, "sudo": SUDO}, tmp_path)
    assert (fails.returncode, refusal(fails.returncode, "u-lab1")) == (1, None)


def test_a_command_that_linux_would_refuse_is_not_sent() -> None:
    with pytest.raises(ValueError, match="longer than"):
        remote_command("#" * LONGEST)
