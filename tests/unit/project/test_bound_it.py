"""A variable is named by the noun that it holds, and never `it`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import tree

ROOT = Path(__file__).parents[3]
LINKS = {path for path in (ROOT / "gpupool").iterdir() if path.is_symlink()}
MODULES = sorted(
    path
    for folder in ("gpupool", "roles", "deploys")
    for path in (ROOT / folder).rglob("*.py")
    if not LINKS & {*path.parents}
)


def bound(code: ast.AST) -> Iterator[int]:
    """Yield the line of each place where a name `it` gets a value."""
    for node in ast.walk(code):
        match node:
            case ast.Name(id="it", ctx=ast.Store()):
                yield node.lineno
            case ast.arg(arg="it") | ast.ExceptHandler(name="it") | ast.MatchAs(name="it") | ast.MatchStar(name="it"):
                yield node.lineno
            case ast.alias(asname="it"):
                yield node.lineno


@pytest.mark.parametrize(
    "text",
    [
        "it = 1",
        "[it for it in nodes]",
        "{a: it for a, it in nodes}",
        "for it in nodes: ...",
        "lambda it: 1",
        "with a as it: ...",
        "if (it := 1): ...",
        "import json as it",
        "try: ...\nexcept ValueError as it: ...",
    ],
)
def test_a_binding_is_found(text: str) -> None:
    assert len(list(bound(ast.parse(text)))) == 1


def test_no_module_binds_it() -> None:
    binding = [str(path.relative_to(ROOT)) for path in MODULES if any(bound(tree(path)))]
    assert binding == []
