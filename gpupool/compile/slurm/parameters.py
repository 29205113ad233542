"""Parameters of the inventory in Slurm's own words, as Slurm's files have them."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from gpupool.slurm.keys.limits import parse
from gpupool.slurm.keys.tables import keys

#: Keys with comma-separated options: those of the inventory are added to gpupool's own.
LISTS = frozenset(
    (
        *("schedulerparameters", "slurmctldparameters", "slurmdparameters", "launchparameters", "prologflags"),
        *("preemptparameters", "authinfo", "accountingstoragetres", "accountingstorageenforce"),
    )
)


def pairs(parameters: Mapping[str, str]) -> list[str]:
    """Return `Key=value` for each, quoted if the value has blanks."""
    return [f'{key}="{value}"' if re.search(r"\s", value) else f"{key}={value}" for key, value in parameters.items()]


def on_line(parts: Iterable[str], parameters: Mapping[str, str]) -> str:
    """Return a line of a node or a partition with further keys, which replace its own."""
    replaced = {key.lower() for key in parameters}
    return " ".join([*(part for part in parts if part.partition("=")[0].lower() not in replaced), *pairs(parameters)])


def in_sacctmgrs_words(table: str, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return parameters in sacctmgr's words, by the columns of sacctmgr's output."""
    columns = {keys(table)[key.lower()].value: value for key, value in parameters.items()}
    fields: dict[str, Any] = {column: parse(column, value) for column, value in columns.items()}
    if "Flags" in fields:
        # In the form that sacctmgr prints, for the comparison.
        fields["Flags"] = [keys("qos_flag")[flag.lower()].value for flag in fields["Flags"]]
    return fields


def merged(text: str, parameters: Mapping[str, str], left: Collection[str] = ()) -> str:
    """Return a file with the inventory's keys after gpupool's own, each once.

    A key that gpupool also writes stays on gpupool's line, with the inventory's value. A list has the options of both;
    an option of the inventory replaces gpupool's of the same name. Of the keys `left`, in lower case, the file has the
    inventory's values alone.
    """
    places: dict[str, list[int]] = {}
    keys_given = {key.lower() for key in parameters}
    lines = list(_without(text.split("\n"), left, keys_given))
    for index, line in enumerate(lines if keys_given else ()):
        key = line.partition("=")[0].lower()
        if key in keys_given:
            places.setdefault(key, []).append(index)
    for key, indexes in places.items():
        if len(indexes) == 2:
            ours, theirs = indexes
            lines[ours] = _joined(lines[ours], lines[theirs]) if key in LISTS else lines[theirs]
    gone = {indexes[1] for indexes in places.values() if len(indexes) == 2}
    return "\n".join(line for index, line in enumerate(lines) if index not in gone)


def _without(lines: list[str], left: Collection[str], given: Collection[str]) -> Iterator[str]:
    """Yield the lines without gpupool's own of the keys `left`, nor the comments above these.

    The inventory's lines of the keys `given` are the last of their keys. The first line of a file stays.
    """
    names = [line.partition("=")[0].lower() for line in lines]
    last = {name: index for index, name in enumerate(names) if name in given}
    gone = {index for index, name in enumerate(names) if name in left and last.get(name) != index}
    for index in sorted(gone, reverse=True):
        while index > 1 and lines[index - 1].startswith("#"):
            index -= 1
            gone.add(index)
    yield from (line for index, line in enumerate(lines) if index not in gone)


def _joined(ours: str, theirs: str) -> str:
    key, _, own = ours.partition("=")
    options = theirs.partition("=")[2].strip('"').split(",")
    named = {_name(option) for option in options}
    together = ",".join([*(option for option in own.split(",") if _name(option) not in named), *options])
    return pairs({key: together})[0]


def _name(option: str) -> str:
    return option.partition("=")[0].strip().lower()
