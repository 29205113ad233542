"""No test requires that something takes less than some seconds: it would fail on a machine three times as slow."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import sources
from hypothesis import settings

ROOT = Path(__file__).parents[3]
#: OpenSSH includes the key exchange, which takes many seconds on an emulated machine with load.
_SHORT = re.compile(r"ConnectTimeout[= ]\d\b")
ENTRIES = {"Mount"}  # here a timeout is a property, not a wait


def bounds(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """Yield the lines that wait, or limit a duration, by a number of seconds."""
    for node in nodes:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") not in ENTRIES:
            values = [keyword.value for keyword in node.keywords if keyword.arg in ("timeout", "deadline")]
            # process.wait(60), thread.join(5)
            waits = isinstance(node.func, ast.Attribute) and node.func.attr in ("wait", "join")
            if any(_is_number(value) for value in (*values, *(node.args if waits else ()))):
                yield node.lineno
        elif isinstance(node, ast.Constant) and _SHORT.search(str(node.value)):
            yield node.lineno
        elif isinstance(node, ast.Compare) and any(_reads_the_clock(part) for part in ast.walk(node.left)):
            below = zip(node.ops, node.comparators, strict=True)
            if any(isinstance(op, ast.Lt | ast.LtE) and _is_number(number) for op, number in below):
                yield node.lineno


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _reads_the_clock(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in ("monotonic", "perf_counter", "seconds", "elapsed", "took")


@pytest.mark.parametrize("folder", ["tests", "molecule"])
def test_no_test_has_a_limit_in_seconds(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert [f"{path.relative_to(ROOT)}:{line}" for path in files for line in bounds(sources.nodes(path))] == []


@pytest.mark.parametrize(
    "text",
    [
        "subprocess.run(['true'], timeout=5)",
        "process.wait(60)",
        "process.communicate(timeout=2.5)",
        "assert time.monotonic() - began < 20",
        "assert report.seconds <= 3",
        "assert min(took) < 240",
        "ssh(*options, '{}=4')".format("ConnectTimeout"),
    ],
)
def test_a_limit_in_seconds_is_found(text: str) -> None:
    assert list(bounds(ast.walk(ast.parse(text)))) == [1]


@pytest.mark.parametrize("text", ["Mount('/a', timeout=30)", "process.wait()", "assert took >= 8", "a < 3 * start()"])
def test_other_comparisons_are_not_limits(text: str) -> None:
    assert list(bounds(ast.walk(ast.parse(text)))) == []


def test_no_example_of_hypothesis_has_a_deadline() -> None:
    assert settings.default is not None
    assert settings.default.deadline is None
