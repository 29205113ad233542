"""Every word of the glossary has one entry and is used; no text for people has a phrase that docs/STYLE.md forbids."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import nodes

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(page for page in sorted(DOCS.rglob("*.md")) if page.name not in ("STYLE.md", "requirements-status.md")),
]
# comments in files that admins and users read, and whole texts that they see
TEMPLATES = [*sorted((ROOT / "inventory" / "example").rglob("*.yml")), *sorted((ROOT / "templates").glob("*.html.j2"))]
MODULES = sorted((ROOT / "gpupool").rglob("*.py"))


def rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the table below a heading, without its header."""
    text = page.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def items(cell: str) -> list[str]:
    return [word.strip() for word in cell.split(",")]


GLOSSARY = [word for row in rows(DOCS / "concepts.md", "Words") for word in items(row[0])]
FORBIDDEN = [phrase for row in rows(DOCS / "STYLE.md", "Phrases we do not use") for phrase in items(row[0])]
_PHRASES = re.compile(
    r"\b(?:" + "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in FORBIDDEN) + r")\b", re.I
)


def forbidden(text: str) -> list[str]:
    """Return the phrases of the table that a text contains outside of code."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return _PHRASES.findall(text)


def messages(module: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each string that is neither a docstring nor a script."""
    inside = nodes(module)
    shown = module.parent.name in ("cli", "schema")  # in these folders, docstrings are the help and the JSON Schema
    bodies = [body[0] for node in inside if (body := getattr(node, "body", None)) and isinstance(body, list)]
    docstrings = {id(statement.value) for statement in bodies if isinstance(statement, ast.Expr) and not shown}
    for node in inside:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in docstrings:
            continue
        # one word is a name; scripts have lines, and comments that no user sees
        if " " in node.value and ("\n" not in node.value.strip() or shown):
            yield node.lineno, node.value


def test_the_tables_are_read() -> None:
    assert {"node", "lab", "cap", "twin"} <= set(GLOSSARY)
    assert {"lies in", "whoever"} <= set(FORBIDDEN)
    assert forbidden("It lies\nin a pool, as `nobody` knows.") == ["lies\nin"]


def test_every_word_of_the_glossary_has_one_entry() -> None:
    assert [word for word in GLOSSARY if GLOSSARY.count(word) > 1] == []


@pytest.mark.parametrize("word", GLOSSARY)
def test_every_word_of_the_glossary_is_used(word: str) -> None:
    used = [page.name for page in PAGES if re.search(re.escape(word), page.read_text(), re.IGNORECASE)]
    assert set(used) - {"concepts.md"}, f"no other page says {word}"


@pytest.mark.parametrize("page", [*PAGES, *TEMPLATES], ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_forbidden_phrase(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".yml":
        text = "\n".join(re.findall(r"# .*", text))  # keys may have any name
    assert forbidden(text) == []


def test_no_message_has_a_forbidden_phrase() -> None:
    found = [
        f"{module.relative_to(ROOT)}:{line}: {text}"
        for module in MODULES
        for line, text in messages(module)
        if forbidden(text)
    ]
    assert found == [], "docs/STYLE.md says what to write instead"


def test_no_lua_has_tags_of_a_template() -> None:
    """Lua is static text that luacheck reads; the inventory's data is a table before it (gpupool/compile/lua.py)."""
    files = [path for path in (ROOT / "templates").rglob("*.lua*") if path.is_file()]
    assert len(files) > 1
    assert [path.name for path in files if path.suffix == ".j2" or re.search(r"\{[%{#]", path.read_text())] == []
