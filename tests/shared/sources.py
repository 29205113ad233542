"""Python files of this repository as syntax trees, each parsed once per process: many tests read all of them."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree(file: Path) -> ast.Module:
    """Return the tree of a file."""
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Return all nodes of a file, in the order of `ast.walk`."""
    return tuple(ast.walk(tree(file)))
