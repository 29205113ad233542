"""A value with the inventory line that sets it, and the values of an entry of the inventory."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from gpupool.cluster.accounts import Account
from gpupool.cluster.complaints import Path, Place
from gpupool.cluster.units import format_duration, format_size

_SOURCES = ("src", "inferred")  # notes for people, without effect


@dataclass(frozen=True)
class Value:
    """A value by its key; `place` is the line that sets it, None for a default."""

    key: str
    value: str
    place: Place | None


@dataclass(frozen=True)
class Explained:
    """A node, partition or account (`what`) with its effective values."""

    what: str
    name: str
    values: tuple[Value, ...]


def entry_values(
    entry: BaseModel,
    path: Path,
    places: Mapping[Path, Place],
    instead: Mapping[str, str],
    prefix: str = "",
    account: str | None = None,
) -> Iterator[Value]:
    """Yield the values of an entry and of entries in it, except unset values that are empty by default."""
    for name, field in type(entry).model_fields.items():
        key, value = field.alias or name, getattr(entry, name)
        here = (*path, key)
        if key in _SOURCES or (here not in places and value in (None, (), {}, False)):
            continue
        if isinstance(value, BaseModel):
            yield from entry_values(value, here, places, {}, f"{prefix}{key}.")
        else:
            shown = instead.get(key) or _shown(key, value)
            yield Value(f"{prefix}{key}", shown.replace("{account}", account or "{account}"), places.get(here))


_SIZES = ("memory", "mem", "capacity")
_TIMES = ("max_time", "max_wall", "grace", "wall")


def _shown(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and key in _SIZES:
        return format_size(value)
    if value is None and key in _TIMES:
        return "infinite"
    if isinstance(value, int) and key in _TIMES:
        return format_duration(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{each}: {_shown(each, its)}" for each, its in value.items())
    return listed(value) if isinstance(value, tuple) else str(value)


def listed(values: Any) -> str:
    """Return values with commas between them; `none` without any."""
    return ", ".join(map(str, values)) or "none"


def nearest(path: Path, places: Mapping[Path, Place]) -> Place | None:
    """Return the line of a key, or of its nearest parent that has a line."""
    while path and path not in places:
        path = path[:-1]
    return places.get(path)


def cap_of(account: Account, path: Path, places: Mapping[Path, Place]) -> Iterator[Value]:
    """Yield the limits of a lab: its cap, and its share of CPUs and memory. An owner of nodes has none of these."""
    if account.entry.kind != "lab":
        return
    if account.limits.group.gpu is not None:
        yield Value("cap", f"{account.limits.group.gpu} GPUs", nearest((*path, "contributed_gpus"), places))
    for key, shown in (("cpu", str), ("mem", format_size)):
        most = getattr(account.limits.group, key)
        if most is not None and (*path, "limits", "group", key) not in places:
            yield Value(f"share.{key}", shown(most), nearest(("scheduler", "lab_share", key), places))
