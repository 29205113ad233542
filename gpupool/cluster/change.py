"""Merge a proposed change (YAML of the inventory's shape) into an inventory; every value keeps its file and line."""

from pathlib import Path as FilePath
from typing import Any

from gpupool.cluster.complaints import Complaint, Located, Path, Place
from gpupool.cluster.near import misspelt
from gpupool.cluster.node_table import expand
from gpupool.cluster.text import Text, read


def merge(text: Text, change: FilePath) -> Text:
    """Return the inventory's text with a change merged into it; complaints about the change are in `located`.

    Mappings are merged by key, lists of named entries by name; any other value replaces the old one. An entry with
    `remove: true` is removed.
    """
    new = read(change)
    merged = _Merge(text, new, Place(str(change), 1))
    data = merged.mapping(text.data, new.data, (), (), ())
    return Text(data, merged.places, [*text.located, *new.located, *merged.located])


class _Merge:
    """One merge; it collects lines in `places` and complaints in `located`."""

    def __init__(self, old: Text, new: Text, fallback: Place) -> None:
        self._old, self._new, self._fallback = old, new, fallback
        self.places: dict[Path, Place] = {}
        self.located: list[Located] = []

    def mapping(self, old: dict[str, Any], new: dict[str, Any], was: Path, via: Path, at: Path) -> dict[str, Any]:
        """Return `old` with the changes of `new`; the paths of old, new and result are `was`, `via` and `at`."""
        merged: dict[str, Any] = {}
        for key in dict.fromkeys([*old, *new]):
            here = (*at, key)
            if key not in new:
                merged[key] = self._taken(self._old, old[key], (*was, key), here)
            elif _is_removal(new[key]):
                self._removal(new[key], (*via, key), key if key in old else None, list(old))
            else:
                merged[key] = self._value(old.get(key), new[key], (*was, key), (*via, key), here)
        return merged

    def _value(self, old: Any, new: Any, was: Path, via: Path, at: Path) -> Any:
        self.places[at] = self._new.places.get(via, self._fallback)
        if isinstance(new, dict):
            return self.mapping(old if isinstance(old, dict) else {}, new, was, via, at)
        if isinstance(new, list) and (_named(old) or _named(new) or any(_is_removal(entry) for entry in new)):
            return self._entries(old if _named(old) else [], new, was, via, at)
        return self._taken(self._new, new, via, at)

    def _entries(self, old: list[Any], new: list[Any], was: Path, via: Path, at: Path) -> list[Any]:
        """Return the old entries in their order, with the changes of the same name, and then the new entries."""
        changes: dict[str, int] = {}
        for index, entry in enumerate(new):
            name = _name(entry)
            if not name:
                self._complain((*via, index), "an entry of a change needs a name, and this one has none", None)
            elif name in changes:
                first = self._place((*via, changes[name]))
                self._complain((*via, index), f"{name} is defined twice; first at {first}", "keep one")
            else:
                changes[name] = index
        names = [_name(entry) for entry in old]
        merged: list[Any] = []
        for index, entry in enumerate(old):
            change = changes.get(names[index])
            here = (*at, len(merged))
            if change is None:
                merged.append(self._taken(self._old, entry, (*was, index), here))
            elif not _is_removal(new[change]):
                merged.append(self._value(entry, new[change], (*was, index), (*via, change), here))
        for name, change in changes.items():
            if _is_removal(new[change]):
                self._removal(new[change], (*via, change), name if name in names else None, names)
            elif name not in names:
                merged.append(self._value(None, new[change], (), (*via, change), (*at, len(merged))))
        return merged

    def _removal(self, entry: dict[str, Any], via: Path, target: str | None, names: list[str]) -> None:
        """Complain if there is no `target` to remove, or if the removal has further keys."""
        name = entry.get("name", via[-1])
        if target is None:
            self._complain(via, f"there is no {name} to remove", _hint(str(name), names))
        if rest := [key for key in entry if key not in ("name", "remove")]:
            self._complain(via, f"{name} has `remove: true` and also {', '.join(rest)}", "keep one or the other")

    def _taken(self, text: Text, value: Any, via: Path, at: Path) -> Any:
        """Return a value unchanged, and record its lines under its new path."""
        if place := text.places.get(via):
            self.places[at] = place
        steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, below in steps:
            if text is self._new and _is_removal(below):
                self._removal(below, (*via, step), None, [])
            self._taken(text, below, (*via, step), (*at, step))
        return value

    def _place(self, via: Path) -> Place:
        return self._new.places.get(via, self._fallback)

    def _complain(self, via: Path, message: str, hint: str | None) -> None:
        self.located.append(Located(self._place(via), Complaint(via, message, hint)))


def _is_removal(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("remove") is True


def _name(entry: Any) -> str:
    """Return an entry's name; an empty string if it has none."""
    name = entry.get("name") if isinstance(entry, dict) else None
    return name if isinstance(name, str) else ""


def _named(value: Any) -> bool:
    """Return whether a list has entries with names."""
    return isinstance(value, list) and any(_name(entry) for entry in value)


def _hint(name: str, names: list[str]) -> str | None:
    """Return a hint at the entry that was probably meant: the range that contains the name, or a similar name."""
    for row in names:
        try:
            inside = row != name and name in expand(row)
        except ValueError:
            continue
        if inside:
            return f"it is part of the range {row}; name the whole range"
    near = misspelt(name, names)
    return f"did you mean {near[0]}?" if near else None
