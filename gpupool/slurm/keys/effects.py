"""The effect of a changed key of Slurm's files, by `effects.tsv`: whether daemons reload, reconfigure or restart."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from gpupool.slurm.hostlists import expanded
from gpupool.slurm.keys.tables import keys, rows
from gpupool.slurm.releases import within

NOTHING, RECONFIGURE, RELOAD = "nothing", "reconfigure", "reload"
#: Daemons that an effect may name, in the order in which they are restarted.
DAEMONS = ("slurmdbd", "slurmctld", "slurmd")
_KEYS = {"slurm.conf": "slurm_conf", "cgroup.conf": "cgroup", "slurmdbd.conf": "slurmdbd"}
_LINES = {"nodename": "node", "partitionname": "partition"}
_COMMENT = re.compile(r"(^|\s)#.*")
_PAIR = re.compile(r"""([A-Za-z]\w*)\s*\+?=\s*("[^"]*"|'[^']*'|\S*)""")
# keys with one value for each node of a line
_EACH = frozenset(("nodeaddr", "nodehostname", "port"))


@dataclass(frozen=True)
class Place:
    """A key in a file: section and key as in the table; `of` is the node or the partition."""

    section: str
    key: str
    of: str = ""

    def __str__(self) -> str:
        """Return the place for a message: `MaxTime of partition all`."""
        if self.section == "text":
            return "its text"
        key = {"NodeName": "", "PartitionName": ""}.get(self.key, self.key)
        where = f"{self.section} {self.of}" if self.of else ""
        return " of ".join(word for word in (key, where) if word)


def changed(file: str, before: str, after: str, release: str) -> dict[Place, str]:
    """Return the places in which two texts of a file differ, with their effects; `file` is a name without folders."""
    old, new = read(file, before), read(file, after)
    places = dict.fromkeys(place for place in (*old, *new) if old.get(place) != new.get(place))
    # an added or removed node is one change, not one for each of its keys
    whole = {(place.section, place.of) for place in places if place.key in ("NodeName", "PartitionName")}
    effects: dict[Place, str] = {}
    for place in places:
        if (place.section, place.of) not in whole or place.key in ("NodeName", "PartitionName"):
            options = _options(old.get(place, ""), new.get(place, ""))
            effects[place] = joined(effect(file, place.section, name, release) for name in _names(place.key, options))
    return effects


@cache
def effect(file: str, section: str, key: str, release: str) -> str:
    """Return the effect of a changed key in a release: nothing, reconfigure, reload, or the daemons to restart."""
    table = _table(release)
    base = key.partition(":")[0]
    for name in (key, base, "*"):
        if entry := table.get((file, section, name.lower())):
            return entry
    return reader(file)


def reader(file: str) -> str:
    """Return the daemon whose restart brings every change of a file into effect."""
    return "slurmdbd" if file == "slurmdbd.conf" else "slurmctld"


def joined(effects: Iterable[str]) -> str:
    """Return several effects as one: all daemons to restart, or else the strongest word."""
    needed = {word for effect in effects for word in effect.split()}
    restarted = [daemon for daemon in DAEMONS if daemon in needed]
    return " ".join(restarted) or next((word for word in (RECONFIGURE, RELOAD) if word in needed), NOTHING)


def at_start(file: str, text: str, release: str, daemon: str) -> dict[Place, str]:
    """Return the places of a file that a daemon reads only at its start, with their values."""
    return {
        place: value
        for place, value in read(file, text).items()
        if any(
            daemon in effect(file, place.section, name, release).split()
            for name in _names(place.key, _options("", value) if _has_options(file, place, release) else set())
        )
    }


def read(file: str, text: str) -> dict[Place, str]:
    """Return the keys of a file with their values; order, blanks, comments and the case of keys do not count."""
    if file.endswith(".lua") or file.startswith("plugstack"):
        return {Place("text", "*"): text}
    values: dict[Place, str] = {}
    for line in _lines(text):
        pairs = _PAIR.findall(line)
        if not pairs or file == "gres.conf":
            values[Place("line", line)] = line
        elif section := _LINES.get(pairs[0][0].lower()):
            values |= _of_line(section, pairs)
        else:
            for key, value in pairs:
                place = Place("global", _known(file, key))
                values[place] = f"{values[place]}\n{_bare(value)}" if place in values else _bare(value)
    return values


def _of_line(section: str, pairs: list[tuple[str, str]]) -> dict[Place, str]:
    values: dict[Place, str] = {}
    names = expanded(pairs[0][1])
    for key, value in pairs:
        each = expanded(value) if key.lower() in _EACH else []
        for number, name in enumerate(names):
            first = key == pairs[0][0]
            word = name if first else each[number] if len(each) == len(names) else _bare(value)
            values[Place(section, _first(section) if first else key, name)] = word
    return values


def _first(section: str) -> str:
    return "NodeName" if section == "node" else "PartitionName"


def _lines(text: str) -> Iterator[str]:
    for line in text.replace("\\\n", " ").splitlines():
        if bare := " ".join(_COMMENT.sub("", line).split()):
            yield bare


def _bare(value: str) -> str:
    return value.strip("\"'")


def _known(file: str, key: str) -> str:
    # Slurm compares without case
    known = keys(_KEYS[file]).get(key.lower()) if file in _KEYS else None
    return known.name if known else key


def _options(old: str, new: str) -> set[str]:
    """Return the names of the options that differ between two lists with commas."""
    differ = set(old.split(",")) ^ set(new.split(","))
    return {option.partition("=")[0].lower() for option in differ if option}


def _names(key: str, options: set[str]) -> Iterable[str]:
    """Return the names of a changed key in the table: one for each changed option, or else the key."""
    return [f"{key}:{option}" for option in sorted(options)] or [key]


def _has_options(file: str, place: Place, release: str) -> bool:
    """Return whether the options of a key have separate rows in the table."""
    return (file, place.section, place.key.lower()) in _with_options(release)


@cache
def _with_options(release: str) -> frozenset[tuple[str, str, str]]:
    """Return the keys whose options have separate rows in the table, with file and section."""
    return frozenset((file, section, key.partition(":")[0]) for file, section, key in _table(release) if ":" in key)


@cache
def _table(release: str) -> Mapping[tuple[str, str, str], str]:
    return {
        (file, section, key.lower()): effect
        for file, section, key, effect, since, before, _ in rows("effects")
        if within(release, since, before)
    }
