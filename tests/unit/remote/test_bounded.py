"""A command that a compromised node answers without end is killed before it fills the memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpupool.remote.bounded import run
from gpupool.remote.command import TooMuchError


@pytest.mark.parametrize("redirected", ["", " >&2"])
def test_output_without_end_is_too_much(redirected: str) -> None:
    with pytest.raises(TooMuchError):
        run(["sh", "-c", f"exec yes{redirected}"], b"", 60, 1 << 20)


def test_both_outputs_and_the_exit_status_are_returned_while_a_megabyte_is_written() -> None:
    data = bytes(range(256)) * 4096
    done = run(["sh", "-c", "cat; echo failed >&2; exit 3"], data, 60, 2 << 20)
    assert (done.stdout, done.stderr, done.returncode) == (data, b"failed\n", 3)


def test_a_command_may_end_before_it_has_read_its_input() -> None:
    assert run(["true"], b"x" * (1 << 20), 60, 1).returncode == 0


@pytest.mark.parametrize(
    "script", ["(sleep 20; touch $0) & sleep 20", "exec >&- 2>&-; sleep 20; touch $0", "sleep 20; touch $0"]
)
def test_a_command_that_takes_too_long_is_killed(tmp_path: Path, script: str) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(["sh", "-c", f"{script}\n:", str(tmp_path / "slept")], b"", 0.5, 1)
    assert not (tmp_path / "slept").exists()


def test_the_input_may_be_more_than_the_command_reads_at_once() -> None:
    script = "import sys; print(len(sys.stdin.buffer.read()))"
    assert run([sys.executable, "-c", script], b"x" * (3 << 20), 60, 100).stdout == b"3145728\n"


def test_a_command_has_ended_although_its_child_holds_the_outputs(tmp_path: Path) -> None:
    done = run(["sh", "-c", "(sleep 20; touch $0) & echo done", str(tmp_path / "slept")], b"", 15, 100)
    assert done.stdout == b"done\n"
    assert not (tmp_path / "slept").exists()
