"""Warnings that the inventory accepts: the complaint gets the reason, and an acceptance without a warning is one."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpupool.cluster.complaints import Complaint, Path
from gpupool.cluster.near import misspelt
from gpupool.cluster.schema.accepted import AcceptedWarning

_KEY = "accepted_warnings"
_SHOWN = 3  # places in a hint


def marked(
    complaints: Sequence[Complaint], accepted: Sequence[AcceptedWarning], data: Mapping[str, Any]
) -> list[Complaint]:
    """Return complaints with the reason of each accepted warning, and a warning for each acceptance without one.

    `data` is the inventory as written; it has the names of the entries of lists.
    """
    places = [place(complaint.path, data) for complaint in complaints]
    warned = [number for number, complaint in enumerate(complaints) if complaint.severity == "warning"]
    result = list(complaints)
    for index, entry in enumerate(accepted):
        same = [number for number in warned if complaints[number].code == entry.warning]
        covered = [number for number in same if _covers(entry, places[number])]
        for number in covered:
            result[number] = replace(complaints[number], accepted=entry.reason)
        if not covered:
            codes = {complaints[number].code for number in warned}
            result.append(_without_a_warning(index, entry, [places[number] for number in same], codes))
    return result


def _without_a_warning(index: int, entry: AcceptedWarning, others: Sequence[str], codes: Collection[str]) -> Complaint:
    """Return the complaint about an acceptance; `others` are the places of warnings with its code."""
    hint = "remove it"
    if others:
        hint = f"its warnings are at {', '.join(others[:_SHOWN])}"
    elif near := misspelt(entry.warning, codes):
        hint = f"did you mean {near[0]}?"
    where = f" at {entry.at}" if entry.at else ""
    message = f"there is no warning {entry.warning!r}{where}"
    return Complaint((_KEY, index), message, hint, "warning", code="accepted-warnings-exist")


def _covers(entry: AcceptedWarning, where: str) -> bool:
    return entry.at is None or where == entry.at or where.startswith((f"{entry.at}.", f"{entry.at}["))


def place(path: Path, data: Mapping[str, Any]) -> str:
    """Return a path in the notation of messages, with the name of a list's entry, if it has one, as its index.

    Unlike a number, a name stays when an entry is added: `nodes[files].roles`.
    """
    text, here = "", data
    for step in path:
        here = _inside(here, step)
        if isinstance(step, int):
            name = here.get("name") if isinstance(here, Mapping) else None
            text += f"[{step if name is None else name}]"
        else:
            text += f".{step}" if text else step
    return text


def _inside(data: Any, step: str | int) -> Any:
    try:
        return data[step]
    except (IndexError, KeyError, TypeError):
        return None
