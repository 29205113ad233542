"""The results and failures of commands that a program runs."""

import os
import stat
from pathlib import Path

import pytest

from gpupool.node import commands
from gpupool.node.commands import CommandError, Result


class Failed(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize(
    ("script", "result", "reason"),
    [
        ("echo out; echo one >&2; echo two >&2; exit 3", Result("out\n", "one\ntwo\n", 3), "two"),
        ("echo one; echo two; exit 1", Result("one\ntwo\n", "", 1), "two"),
        ("echo out; echo ' ' >&2; exit 1", Result("out\n", " \n", 1), "out"),
        ("exit 3", Result("", "", 3), "exit code 3"),
        ("cat; printf '\\303'; printf '\\377' >&2", Result("\ufffd", "\ufffd", 0), "\ufffd"),
    ],
)
def test_a_command_that_ends_has_its_output(script: str, result: Result, reason: str) -> None:
    answer = commands.run(["sh", "-c", script], 60)
    assert (answer, answer.reason) == (result, reason)


def test_a_command_that_cannot_be_run_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"^/nowhere/squeue: not installed$"):
        commands.run(["/nowhere/squeue", "--json"], 60)
    (tmp_path / "text").touch(mode=stat.S_IRUSR)
    with pytest.raises(CommandError, match=r"text: Permission denied$") as raised:
        commands.run([str(tmp_path / "text")], 60)
    assert raised.value.reason == "Permission denied"
    with pytest.raises(CommandError, match=r"^sleep infinity: no answer within 0\.01 s$"):
        commands.run(["sleep", "infinity"], 0.01)


def test_the_caller_gets_the_output_or_its_failure() -> None:
    assert commands.output_of(["sh", "-c", "echo $X"], 60, Failed, {**os.environ, "X": "x"}) == "x\n"
    with pytest.raises(Failed, match=r"^sh -c exit 3: exit code 3$"):
        commands.output_of(["sh", "-c", "exit 3"], 60, Failed)
    with pytest.raises(Failed, match=r"^/nowhere/squeue: not installed$"):
        commands.output_of(["/nowhere/squeue"], 60, Failed)
