"""What an operation is about to change, by name and with a diff: kept here for whoever shows the plan.

An operation records its changes before its first command. The driver takes them by the operation's hash, after
the operation was prepared or executed on a host.
"""

import difflib
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from gpupool.effect import Effect, together
from gpupool.operations.ambient import this_host

_changes: WeakKeyDictionary[Any, dict[str | None, dict[str, str | None]]] = WeakKeyDictionary()
_effects: WeakKeyDictionary[Any, dict[str, dict[str, Effect]]] = WeakKeyDictionary()
_notes: WeakKeyDictionary[Any, dict[str, None]] = WeakKeyDictionary()


def diff_of(current: str | None, wanted: str, path: str) -> str:
    """Return the unified diff that turns `current` (None: no such file) into `wanted`."""
    before = [] if current is None else current.splitlines(keepends=True)
    lines = difflib.unified_diff(
        before, wanted.splitlines(keepends=True), "/dev/null" if current is None else path, path, n=2
    )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def record(changes: Mapping[str, str | None]) -> None:
    """Remember what the current operation changes on the current host: name -> diff, None where there is none to show.

    What the same operation recorded before on this host (while it was prepared) is replaced.
    """
    host = this_host()
    _changes.setdefault(host, {})[host.current_op_hash] = dict(changes)


def note(text: str) -> None:
    """Remember what people are told of the current host besides changes; said twice, it is told once."""
    _notes.setdefault(this_host(), {})[text] = None


def notes(host: Any) -> tuple[str, ...]:
    """Hand over what was noted of a host, and forget it."""
    return tuple(_notes.pop(host, {}))


def take(host: Any, op_hash: str | None) -> dict[str, str | None]:
    """Hand over what the operation recorded on this host, and forget it; empty when it recorded nothing."""
    return _changes.get(host, {}).pop(op_hash, {})


def costs(by: str, effects: Mapping[str, Effect]) -> None:
    """Say what changes of the current host lead to, by their names; `by` is who says it, and replaces what it said."""
    _effects.setdefault(this_host(), {})[by] = dict(effects)


def effects(host: Any) -> dict[str, Effect]:
    """Hand over what changes of a host lead to, by their names, and forget it."""
    announced = _effects.pop(host, {}).values()
    return {
        name: together(it[name] for it in announced if name in it) for name in {name for it in announced for name in it}
    }
