"""Complaints: what is wrong in an inventory, where, and what to do about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from gpupool.cluster.quote import escaped, listed
from gpupool.errors import InventoryError

Path = tuple[str | int, ...]
_NAMED = ("hardware", "qos", "gpu_types")  # mappings whose entries have names
_STEP = 80  # characters of one key in a path
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Place:
    """A line of a file, counted from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{escaped(self.file)}:{self.line}"


@dataclass(frozen=True)
class Complaint:
    """One thing that is wrong at `path` of the inventory, with a hint if there is one.

    Message and hint may contain text of the inventory, so they are escaped to one line, and shortened. `missing` is
    true if the inventory does not have the path. `code` is the name of the check, and never changes; `accepted` is
    the inventory's reason to accept a warning.
    """

    path: Path
    message: str
    hint: str | None = None
    severity: Severity = "error"
    missing: bool = False
    code: str = "shape"
    accepted: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", escaped(self.message))
        if self.hint is not None:
            object.__setattr__(self, "hint", escaped(self.hint))


@dataclass(frozen=True)
class Located:
    """A complaint and its line."""

    place: Place
    complaint: Complaint

    def __str__(self) -> str:
        path = dotted(self.complaint.path)
        hint = f" ({self.complaint.hint})" if self.complaint.hint else ""
        where = f"{path}: " if path else ""
        return f"{self.place}: {self.complaint.severity}: {where}{self.complaint.message}{hint}"


def dotted(path: Path) -> str:
    """Return a path in the notation of messages: `nodes[3].gpus.a40`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{escaped(step, _STEP)}" if text else escaped(step, _STEP)
    return text


def locate(complaints: Iterable[Complaint], places: Mapping[Path, Place], fallback: Place) -> list[Located]:
    """Return each complaint with the line of its path, or of its nearest parent that has a line; sorted by line.

    A key that `<<` merges into several entries is in one line: its complaint is returned once, and names the others.
    """
    located: dict[tuple[Place, Complaint], list[Complaint]] = {}
    for complaint in complaints:
        path = complaint.path
        while path and path not in places:
            path = path[:-1]
        place = places.get(path, fallback)
        located.setdefault((place, replace(complaint, path=_of_any_entry(complaint.path))), []).append(complaint)
    return sorted(
        (Located(place, _together(same)) for (place, _), same in located.items()),
        key=lambda one: (one.place.file, one.place.line, dotted(one.complaint.path), one.complaint.message),
    )


def _of_any_entry(path: Path) -> Path:
    """Return a path without the index or name of its entry."""
    has_entry = len(path) > 2 and (isinstance(path[1], int) or path[0] in _NAMED)
    return (path[0], *path[2:]) if has_entry else path


def _together(same: list[Complaint]) -> Complaint:
    """Return one complaint for several that differ in their paths only."""
    first, *others = same
    places = dict.fromkeys(dotted(other.path[:-1]) for other in others if other.path != first.path)
    return replace(first, message=f"{first.message}; also in {listed(list(places))}") if places else first


class BadInventoryError(InventoryError):
    """Raised for an inventory with errors; `located` has all of them, the text has one per line."""

    def __init__(self, located: list[Located]) -> None:
        self.located = located
        super().__init__("\n".join(str(line) for line in located))
