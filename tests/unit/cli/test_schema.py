"""The JSON Schema that editors read: every key has a description, and regular expressions and defaults are valid."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpupool.cli.schema import of_inventories, of_labs, of_promises

SCHEMAS = {"inventories": of_inventories, "labs": of_labs, "promises": of_promises}
#: A character that may follow a backslash in a regular expression of ECMA 262 with the flag u, which JSON Schema uses:
#: a class, an escape of a syntax character, or (in a set) a hyphen.
_ESCAPED = re.compile(r"\\(?P<after>.)", re.DOTALL)
_ALLOWED = set("dDsSwWbBfnrtv0^$.*+?()[]{}|/-\\")
#: Python's own syntax, which ECMA 262 lacks.
_PYTHON = re.compile(r"\(\?(?:P|#|[aiLmsux]+[):-])|\\[AZ]|[*+?}]\+")


@pytest.fixture(params=SCHEMAS, scope="module")
def language(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Yield each schema."""
    return SCHEMAS[request.param]()


def _fields(language: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, model in ((language["title"], language), *language["$defs"].items()):
        for key, field in model.get("properties", {}).items():
            yield f"{name}.{key}", field


def _described(language: dict[str, Any], field: dict[str, Any]) -> bool:
    """Return whether an editor shows a description: of the field, or of the only type of its value."""
    if field.get("description"):
        return True
    kinds = [kind for kind in field.get("anyOf", [field]) if kind.get("type") != "null"]
    if len(kinds) != 1:
        return False
    (kind,) = kinds
    target = language["$defs"][kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
    return bool(target.get("description"))


@pytest.mark.parametrize(
    ("user", "valid"),
    [
        ({"name": "u-kira1", "uid": 20001}, True),
        ({"name": "u-kira1", "uid": 20001, "until": "2027-03-31", "shell": "/bin/zsh"}, True),
        ({"uid": 20001}, False),
        ({"name": "u-kira1", "uid": 20001, "coordinator": True}, False),
        ({"name": "u-kira1", "uid": 20001, "qos": ["long"]}, False),
    ],
)
def test_the_file_of_a_lab_has_users_without_rights(user: dict[str, Any], valid: bool) -> None:
    validator = Draft202012Validator(of_labs())
    assert validator.is_valid({"users": [user]}) is valid
    assert not validator.is_valid({"accounts": []})


def test_every_key_has_a_description(language: dict[str, Any]) -> None:
    assert [name for name, field in _fields(language) if not _described(language, field)] == []


def test_a_description_is_one_paragraph(language: dict[str, Any]) -> None:
    texts = {name: field["description"] for name, field in _fields(language) if "description" in field}
    assert {name: text for name, text in texts.items() if text != " ".join(text.split())} == {}


def test_defaults_are_valid_in_an_inventory(language: dict[str, Any]) -> None:
    wrong = {
        name: field["default"]
        for name, field in _fields(language)
        if "default" in field
        and not Draft202012Validator({**field, "$defs": language["$defs"]}).is_valid(field["default"])
    }
    assert wrong == {}
    fields = dict(_fields(language))
    if "Slurm.controller_timeout" in fields:
        assert [fields[name]["default"] for name in ("Slurm.controller_timeout", "Health.disk_free")] == ["2m", "1G"]


def test_regular_expressions_are_valid_in_editors(language: dict[str, Any]) -> None:
    """Editors are written in JavaScript: an escape that Python ignores is an error there, and refuses the schema."""
    found = [*_patterns(language)]
    assert len(found) > 2
    assert [pattern for pattern in found if not _is_ecma(pattern)] == []


def _patterns(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("pattern"), str):
            yield part["pattern"]
        yield from part.get("patternProperties", {})
        for below in part.values():
            yield from _patterns(below)
    elif isinstance(part, list):
        for below in part:
            yield from _patterns(below)


def _is_ecma(pattern: str) -> bool:
    return {found["after"] for found in _ESCAPED.finditer(pattern)} <= _ALLOWED and not _PYTHON.search(pattern)


@pytest.mark.parametrize("pattern", [r"^[!\"$-~]+$", r"^\_$", r"(?P<name>a)", r"(?i)a", r"\Aa", r"a++"])
def test_a_pattern_of_python_alone_is_found(pattern: str) -> None:
    assert re.compile(pattern)
    assert not _is_ecma(pattern)


@pytest.mark.parametrize("pattern", [r"^(?:a|b)+$", r"^(?=[0-9])\d{1,2}%$", r"^[\w.-]\.\\$", r"^(?!a)\{user\}$"])
def test_a_pattern_of_both_is_accepted(pattern: str) -> None:
    assert _is_ecma(pattern)


def test_the_printed_schema_is_the_same(gpupool: Callable[..., Any]) -> None:
    assert '"default": "2m"' in gpupool("schema").out
