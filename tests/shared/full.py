"""Tests that only `script/test --full` runs: by the mark `only`, or by a line of `tests/full.txt`.

A line is a folder, a file or a test, as pytest is given them. A run that is given tests by name, without `--sample`,
runs all of them.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from suite.layers import FULL, LAYERS

LIST = Path(__file__).parents[1] / "full.txt"

only = pytest.mark.skipif(not os.environ.get(FULL), reason="only in script/test --full")


def listed() -> list[str]:
    """Return the lines of the list, without comments."""
    lines = (line.partition("#")[0].strip() for line in LIST.read_text().splitlines())
    return [line for line in lines if line]


def is_listed(test: str, lines: Sequence[str]) -> bool:
    """Return whether a line names this test, all its parameters, its file or its folder."""
    return any(test == line or test.startswith((f"{line}::", f"{line}[", f"{line}/")) for line in lines)


def is_long(test: str) -> bool:
    """Return whether only `script/test --full` runs a test: its name is listed, or its layer is long."""
    layers = [word for layer in LAYERS if layer.long for command in layer.commands for word in command]
    return is_listed(test, [*listed(), *(word for word in layers if word.startswith("tests/"))])


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove the listed tests from a run with `--sample`, unless the long forms of tests run."""
    if not config.getoption("sample") or os.environ.get(FULL):
        return
    lines = listed()
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (left_out if is_listed(item.nodeid, lines) else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
