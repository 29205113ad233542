"""Foreign text in our own lines: on one line, without signs that a terminal obeys, and not longer than it helps."""

from collections.abc import Sequence
from typing import Any

_VALUE = 80  # characters of a value
_TEXT = 400  # characters of a whole complaint's words


def quoted(value: Any) -> str:
    """Return a value as a complaint names it, a long one shortened."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str) and len(value) > _VALUE:
        return f"{value[:_VALUE]!r}…"
    return "nothing" if value is None else _cut(repr(value), 2 * _VALUE)


def escaped(text: str, most: int = _TEXT) -> str:
    """Return a text on one line: what cannot be printed as its escape, and of a long one the two ends."""
    signs = (c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in _cut(text, most))
    return _cut("".join(signs), most)


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return `a, b and c`; of more than `most` the first, and how many more there are."""
    shown = [*names[:most], *([f"{len(names) - most} more"] if len(names) > most else [])]
    return " and ".join([*([", ".join(shown[:-1])] if len(shown) > 1 else []), *shown[-1:]])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]}…{text[len(text) - most // 3 :]}"
