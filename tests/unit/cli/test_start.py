"""A command imports only what it needs: each completion in a shell starts gpupool again."""

import os
import subprocess
import sys

import pytest
from inventories import INVENTORY

from gpupool.cli.app import COMMANDS, imported

#: Libraries that each take as long to import as all modules needed to complete a word.
SLOW = {"ClusterShell", "gevent", "jinja2", "paramiko", "pydantic", "pyinfra", "pytest", "rich", "yaml"}
CODE = f"""
import sys, gpupool.cli
try:
    gpupool.cli.main()
finally:
    print(*sorted({SLOW} & {{*sys.modules}}), file=sys.stderr)
"""


def loaded(*arguments: object, **environment: str) -> set[str]:
    """Return the libraries of these that gpupool has imported when a command ends."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *map(str, arguments)],
        capture_output=True, text=True, check=True, env={**os.environ, **environment},
    )  # fmt: skip
    return {*done.stderr.split()}


def completing(line: str) -> set[str]:
    words = ["gpupool", *line.split(" ")]
    return loaded(_GPUPOOL_COMPLETE="complete_bash", COMP_WORDS="\n".join(words), COMP_CWORD=str(len(words) - 1))


def test_the_version_is_printed_without_those_modules() -> None:
    assert loaded("--version") == set()


@pytest.mark.parametrize("line", ["re", "rehearse x --slurm 2", "testbed s", *(f"{name} --" for name in COMMANDS)])
def test_commands_and_options_are_completed_without_those_modules(line: str) -> None:
    assert completing(line) == set()


def test_completion_of_nodes_reads_only_the_entries_of_nodes() -> None:
    assert completing(f"plan {INVENTORY / 'skynet'} --limit a40") == {"ClusterShell", "yaml"}


def test_a_check_reads_and_prints() -> None:
    assert loaded("check", INVENTORY / "skynet") == {"ClusterShell", "pydantic", "rich", "yaml"}


@pytest.mark.parametrize("name", COMMANDS)
def test_lists_of_commands_have_the_first_sentence_of_each_help(name: str) -> None:
    first, _, _ = (imported(name).help or "").partition("\n\n")
    assert " ".join(first.split()) == COMMANDS[name]
