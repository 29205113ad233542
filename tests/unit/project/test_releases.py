"""Releases of Slurm are in three tables, and gpupool/slurm imports only itself and the standard library."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import tree

ROOT = Path(__file__).parents[3]
#: Releases, their abilities, the steps of upgrades, and the end of support.
TABLES = [ROOT / f"gpupool/slurm/{name}.py" for name in ("releases", "upgrades", "support")]
#: Slurm's releases come in these months.
_RELEASE = re.compile(r"(?<![\d.])2\d\.(?:02|05|08|11)(?!\d)")


def literals(code: ast.Module) -> Iterator[int]:
    """Return the lines of a module with a string that names a release of Slurm, without docstrings."""
    docstrings = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr)}
    for node in ast.walk(code):
        if isinstance(node, ast.Constant) and id(node) not in docstrings and _RELEASE.search(str(node.value)):
            yield node.lineno


def modules(*folders: str) -> list[Path]:
    """Return the Python files of folders; gpupool's links to roles and deploys are not followed."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def test_only_the_tables_name_releases_of_slurm() -> None:
    named = [f"{path.relative_to(ROOT)}:{line}" for path in modules("gpupool", "roles", "deploys") if path not in TABLES
             for line in literals(tree(path))]  # fmt: skip
    assert named == []
    assert all(list(literals(tree(table))) for table in TABLES)


@pytest.mark.parametrize(
    "text",
    [
        "if version == '22.05': pass",
        "print(f'use {name} 24.11 or later')",
        "TABLE = {'x': ('25.05',)}",
        "package = '1:24.11.5-4'",
        "def f(version: Literal['26.05']) -> None: ...",
    ],
)
def test_a_release_is_found_in_any_string(text: str) -> None:
    assert list(literals(ast.parse(text))) == [1]


@pytest.mark.parametrize(
    "text", ['"""Works on 22.05."""', "# 24.11\nx = '22.04'", "x = '122.05'", "x = '1.24.05'", "def f():\n  'as 24.11'"]
)
def test_docstrings_comments_and_other_versions_are_allowed(text: str) -> None:
    assert list(literals(ast.parse(text))) == []


def test_the_ground_floor_imports_itself_and_the_standard_library_only() -> None:
    wrong = []
    for path in modules("gpupool/slurm"):
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            wrong += [
                f"{path.relative_to(ROOT)}: {name}"
                for name in names
                if not f"{name}.".startswith("gpupool.slurm.") and name.split(".")[0] not in sys.stdlib_module_names
            ]
    assert wrong == []
