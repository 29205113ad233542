"""Pronouns are not names: a parameter, an attribute, a class or a module is named by its content."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import tree

ROOT = Path(__file__).parents[3]
PRONOUNS = {"it", "words", "said", "found"}
#: Keys of `--json` that were published before, and stay.
DOCUMENTS, OF_DOCUMENTS = ROOT / "gpupool" / "documents", {"words"}
FOLDERS = ("gpupool", "roles", "deploys", "script", "tests")


def modules(folder: str) -> list[Path]:
    """Return the modules of a folder; gpupool/roles and gpupool/deploys are links to those at the top."""
    links = {path for path in (ROOT / folder).iterdir() if path.is_symlink()}
    return sorted(path for path in (ROOT / folder).rglob("*.py") if not links & {*path.parents})


def is_pronoun(name: str) -> bool:
    return name.strip("_").lower() in PRONOUNS


def names(code: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each parameter, of each attribute that is set or used, and of each class."""
    for node in ast.walk(code):
        match node:
            case ast.arg(arg=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.Attribute(attr=name):
                yield node.lineno, name
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                match part:
                    case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
                        yield part.lineno, name
                    case ast.Assign(targets=targets):
                        yield from ((part.lineno, name.id) for name in targets if isinstance(name, ast.Name))


def pronouns(text: str) -> list[str]:
    return [name for _, name in names(ast.parse(text)) if is_pronoun(name)]


@pytest.mark.parametrize(
    "text",
    [
        "def f(it): ...",
        "def f(*, words=1): ...",
        "f = lambda it: 1",
        "def f(*words): ...",
        "class Found: ...",
        "class A:\n    said: str",
        "class A:\n    said = 1",
        "class A:\n    def found(self): ...",
        "self._said = 1",
    ],
)
def test_a_pronoun_is_found(text: str) -> None:
    assert len(pronouns(text)) == 1


def test_in_a_comprehension_it_is_allowed() -> None:
    assert pronouns("[it.name for it in nodes]") == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_pronoun_is_a_name(folder: str) -> None:
    wrong = []
    for module in modules(folder):
        used = [*names(tree(module)), *((1, part) for part in module.relative_to(ROOT).with_suffix("").parts)]
        if module.is_relative_to(DOCUMENTS):
            used = [(line, name) for line, name in used if name not in OF_DOCUMENTS]
        wrong += [f"{module.relative_to(ROOT)}:{line}: {name}" for line, name in used if is_pronoun(name)]
    assert modules(folder) != []
    assert wrong == []
