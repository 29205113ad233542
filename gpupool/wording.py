"""Texts that several screens share: counts, lists of names, and the differences of a change."""

from collections.abc import Iterable

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind

_MOST = 6  # names that are listed in full


def counted(number: int, noun: str) -> str:
    """Return `1 node`, `2 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shortened(names: Iterable[str]) -> str:
    """Return the names, or the first of them and the number of others."""
    listed = list(names)
    if len(listed) <= _MOST:
        return ", ".join(listed)
    return f"{', '.join(listed[: _MOST - 1])} and {len(listed) - _MOST + 1} more"


def changed(change: Change) -> str | None:
    """Return the differences of a change, a line for each property or its diff; None if its name is enough."""
    return "".join(_aspect(change, each) for each in change.aspects) or None


def _aspect(change: Change, each: Aspect) -> str:
    if each.diff:
        return each.diff
    # "start munge.service" needs no more words
    text = each.note or ("" if change.act and not each.name else _values(change.kind, each.wanted, each.actual))
    return f"{each.name}: {text}\n" if text and each.name else f"{text}\n" if text else ""


def _values(kind: Kind, wanted: str, actual: str) -> str:
    if kind is Kind.LINK and wanted != ABSENT:
        return f"link to {wanted}" + ("" if actual == ABSENT else f", now to {actual}")
    if wanted == ABSENT:
        return f"no longer in the inventory{', and already removed' if actual == ABSENT else ': will be removed'}"
    if actual == ABSENT:
        return "" if wanted == PRESENT else wanted
    return f"{actual} becomes {wanted}"
