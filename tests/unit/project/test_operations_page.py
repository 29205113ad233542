"""The eleven tasks of docs/operations.md: their commands are valid, and the tests named for each task run them."""

import re
import shlex
from pathlib import Path

import pytest
from typer.core import TyperGroup

from gpupool.cli.app import imported

DOCS = Path(__file__).parents[3] / "docs"
TASKS = dict(re.findall(r"^## (.+)\n((?:(?!## ).*\n)+)", (DOCS / "operations.md").read_text(), flags=re.MULTILINE))
#: Calls of a test's helper, for commands that the test does not name itself.
HELPERS = {"plan": ".plan(", "apply": ".apply(", "rehearse": "tried("}
#: Reads only the inventory, and has a hundred tests.
EVERYWHERE = {"check"}


FIRST_MACHINES = (DOCS / "first-machines.md").read_text()


def commands(task: str) -> list[list[str]]:
    return commands_in(TASKS[task])


def commands_in(text: str) -> list[list[str]]:
    lines = re.findall(r"^ {4,}\$ gpupool (.+?)(?:  +#.*)?$", text, flags=re.MULTILINE)
    return [shlex.split(line) for line in lines]


def test_there_are_eleven_tasks() -> None:
    assert len(TASKS) == 11


@pytest.mark.parametrize("text", [*TASKS.values(), FIRST_MACHINES], ids=[*TASKS, "first-machines.md"])
def test_the_commands_of_a_task_are_valid(text: str) -> None:
    assert commands_in(text)
    for words in commands_in(text):
        command, words = imported(words[0]), words[1:]
        while isinstance(command, TyperGroup):
            command, words = command.commands[words[0]], words[1:]
        command.make_context("gpupool", list(words), resilient_parsing=False)


@pytest.mark.parametrize("task", TASKS)
def test_the_tests_of_a_task_run_its_commands(task: str) -> None:
    links = re.findall(r"\(\.\./(tests/[^)]+)\)", TASKS[task].partition("Run by")[2])
    named = [DOCS.parent / link for link in links]
    assert named
    files = [file for path in named for file in ([path] if path.is_file() else path.rglob("*.py"))]
    text = "\n".join(file.read_text() for file in files)
    for words in commands(task):
        if words[0] not in EVERYWHERE:
            assert f'"{words[0]}"' in text or HELPERS.get(words[0], "nowhere") in text, f"no test named runs {words}"
