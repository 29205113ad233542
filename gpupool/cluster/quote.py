"""Foreign text in our own messages: on one line, without control characters, and shortened."""

from collections.abc import Sequence
from typing import Any

_VALUE = 80  # characters of a value
_TEXT = 400  # characters of a message


def quoted(value: Any) -> str:
    """Return a value as complaints show it, shortened if it is long."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str) and len(value) > _VALUE:
        return f"{value[:_VALUE]!r}…"
    return "nothing" if value is None else _cut(repr(value), 2 * _VALUE)


def escaped(text: str, most: int = _TEXT) -> str:
    """Return a text on one line: unprintable characters are escaped, and a long text keeps only its two ends."""
    signs = (c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in _cut(text, most))
    return _cut("".join(signs), most)


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return `a, b and c`; for more than `most` names, the first ones and the number of the others."""
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return " and ".join([*([", ".join(shown[:-1])] if len(shown) > 1 else []), *shown[-1:]])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]}…{text[len(text) - most // 3 :]}"
