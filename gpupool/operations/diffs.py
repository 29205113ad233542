"""The changes that operations are about to make, as values, for the plan and the report.

An operation records its changes before its first command. The engine takes them by the operation's hash, after
the operation was prepared or executed on a host.
"""

import difflib
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from gpupool.change import ABSENT, PRESENT, Aspect, Change
from gpupool.effect import Effect, together
from gpupool.operations.ambient import this_host

_changes: WeakKeyDictionary[Any, dict[str | None, tuple[Change, ...]]] = WeakKeyDictionary()
_effects: WeakKeyDictionary[Any, dict[str, dict[str, Effect]]] = WeakKeyDictionary()
_notes: WeakKeyDictionary[Any, dict[str, None]] = WeakKeyDictionary()
_NO_LINE = "no such line"


def diff_of(current: str | None, wanted: str, path: str) -> str:
    """Return the unified diff that turns `current` (None: no such file) into `wanted`."""
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in _lines_of(current, wanted, path)
    )


def text_of(current: str | None, wanted: str, path: str) -> Aspect:
    """Return the difference of a file's text, with its diff; the values are the first different line of each side."""
    diff = diff_of(current, wanted, path)
    if current is None:
        return Aspect(PRESENT, ABSENT, diff=diff)
    lines = list(_lines_of(current, wanted, path))[2:]
    new, old = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "+-")
    return Aspect(_first(new) or _NO_LINE, _first(old) or _NO_LINE, diff=diff)


def _lines_of(current: str | None, wanted: str, path: str) -> Iterable[str]:
    before = [] if current is None else current.splitlines(keepends=True)
    after = wanted.splitlines(keepends=True)
    return difflib.unified_diff(before, after, "/dev/null" if current is None else path, path, n=2)


def _first(lines: list[str]) -> str:
    filled = [line for line in lines if line]
    return f"{filled[0]} (and {len(filled) - 1} more)" if len(filled) > 1 else "".join(filled)


def record(changes: Iterable[Change]) -> None:
    """Record the changes of the current operation on the current host; earlier records of it are replaced."""
    host = this_host()
    _changes.setdefault(host, {})[host.current_op_hash] = tuple(changes)


def note(text: str) -> None:
    """Record a line about the current host for people; duplicates are dropped."""
    _notes.setdefault(this_host(), {})[text] = None


def notes(host: Any) -> tuple[str, ...]:
    """Return and clear the notes of a host."""
    return tuple(_notes.pop(host, {}))


def forget(host: Any) -> None:
    """Drop all changes, effects and notes of a host: a run that has foreseen them begins to make them."""
    for records in (_changes, _effects, _notes):
        records.pop(host, None)


def take(host: Any, op_hash: str | None) -> tuple[Change, ...]:
    """Return and clear the changes that the operation recorded on this host; empty if there are none."""
    return _changes.get(host, {}).pop(op_hash, ())


def costs(by: str, effects: Mapping[str, Effect]) -> None:
    """Record the effects of changes of the current host, by name; earlier records of `by` are replaced."""
    _effects.setdefault(this_host(), {})[by] = dict(effects)


def effects(host: Any) -> dict[str, Effect]:
    """Return and clear the effects of a host's changes, by the changes' names."""
    announced = _effects.pop(host, {}).values()
    names = {name for given in announced for name in given}
    return {name: together(given[name] for given in announced if name in given) for name in names}
