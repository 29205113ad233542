"""Counts and lists of names, as messages have them."""

from collections.abc import Iterable

_MOST = 6  # names that are listed in full


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def few(names: Iterable[str]) -> str:
    """Return the names, or the first of them and how many more there are."""
    listed = list(names)
    if len(listed) <= _MOST:
        return ", ".join(listed)
    return f"{', '.join(listed[: _MOST - 1])} and {len(listed) - _MOST + 1} more"
