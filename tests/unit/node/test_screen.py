"""The end of a command on a node."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpupool.node import screen

ROOT = Path(__file__).parents[3]


def ran(main: str, shell: str = '"$@"') -> subprocess.CompletedProcess[str]:
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from gpupool.node import screen; screen.run({main})"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", shell, "sh", sys.executable, "-c", program, "3"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("main", "shell", "code"),
    [
        ("lambda arguments: int(arguments[0])", '"$@"', 3),
        ("lambda _: print('x' * 1_000_000) or 0", '"$@" | true', 0),
        ("lambda _: (_ for _ in ()).throw(KeyboardInterrupt)", '"$@"', 130),
    ],
)
def test_a_command_ends_with_one_code_and_no_traceback(main: str, shell: str, code: int) -> None:
    done = ran(main, shell)
    assert (done.returncode, done.stderr) == (code, "")


def test_a_name_contains_no_control_characters() -> None:
    assert screen.plain("a\tb\x1b[2J\u00e9\n") == "a?b?[2J\u00e9?"
    assert screen.plain(7) == "7"
