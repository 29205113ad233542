"""Write values as Lua source."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_WIDTH = 120  # as in .luacheckrc


def literal(value: str | float | Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a value on one line: a string, a number, a boolean, a list, or a table with keys."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', lambda sign: f"\\{ord(sign[0]):03}", value) + '"'
    if isinstance(value, Mapping | Sequence):
        entries = ", ".join(key + literal(entry) for key, entry in _entries(value))
        return f"{{ {entries} }}" if entries else "{}"
    return str(value)


def laid_out(value: Any, taken: int = 0, indent: str = "") -> str:
    """Return a value as `literal` does, with line breaks where a line would be longer than 120 characters.

    `taken` is the number of characters before it on its line, `indent` the beginning of that line. Only white space
    differs, so the tokens of the program do not depend on the length of a name.
    """
    whole = literal(value)
    if taken + len(whole) < _WIDTH or isinstance(value, str) or not isinstance(value, Mapping | Sequence):
        return whole
    inner, can_grow = f"{indent}  ", False
    rows: list[str] = []
    for key, entry in _entries(value):
        piece = key + laid_out(entry, len(inner + key), inner)
        is_short = not isinstance(entry, Mapping)
        if can_grow and is_short and len(f"{inner}{rows[-1]}, {piece}") < _WIDTH:
            rows[-1] += f", {piece}"
        else:
            rows.append(piece)
        can_grow = is_short
    body = ",\n".join(f"{inner}{row}" for row in rows)
    return f"{{\n{body}\n{indent}}}"


def long_string(text: str) -> str:
    """Return a text in Lua's long brackets, without escapes."""
    # Lua 5.1 refuses [[ inside [[ ]], so there is at least one `=`.
    level = next("=" * length for length in range(1, len(text) + 2) if f"]{'=' * length}]" not in text + "]")
    # Lua skips a line break directly after the opening bracket.
    return f"[{level}[\n{text}]{level}]"


def _entries(table: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str, Any]]:
    if isinstance(table, Mapping):
        return ((f"[{literal(key)}] = ", entry) for key, entry in table.items())
    return (("", entry) for entry in table)
