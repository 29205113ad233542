"""Answer a key that the inventory language does not have: the key with which an inventory says the same.

An answer comes from the words of admins (`guessed.tsv`), from Slurm's own terms (gpupool.slurm.keys), from the other
mappings of the language, or is the nearest spelling.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from gpupool.cluster.complaints import Path
from gpupool.cluster.mappings import NAME, form, keys_at, mappings
from gpupool.cluster.near import misspelt
from gpupool.slurm.keys.tables import Own, keys, own

_FEW = 16  # keys that a hint can name
_SOURCES = ("src", "inferred")
_PARTITION, _QOS, _ACCOUNT, _NODE = "partitions[]", f"qos.{NAME}", "accounts[]", "nodes[]"
_HARDWARE = f"hardware.{NAME}"
#: Tables of Slurm's terms by mapping, in the order of search.
_TABLES = {
    _PARTITION: ("partition", "qos"),
    _QOS: ("qos", "association"),
    _ACCOUNT: ("association", "qos"),
    "users[]": ("association", "qos"),
    _NODE: ("node",),
    _HARDWARE: ("node",),
    "gpu": ("cgroup", "slurm_conf"),
    "slurm.cgroup": ("cgroup",),
    "slurm.slurmdbd": ("slurmdbd",),
    **dict.fromkeys(("scheduler", "preemption", "slurm", ""), ("slurm_conf", "partition", "qos", "cgroup", "slurmdbd")),
}
#: The mapping that has a table's keys, and whose keys its answers are. Those of others are whole.
_HOME = {
    "slurm_conf": "slurm",
    "cgroup": "slurm.cgroup",
    "slurmdbd": "slurm.slurmdbd",
    "partition": _PARTITION,
    "node": _NODE,
    "qos": _QOS,
    "association": _ACCOUNT,
}
_SHORT = ("partition", "qos", "association")  # tables whose answers are without the path of their mapping


@dataclass(frozen=True)
class Answer:
    """The key that says the same ("" if nothing may say it), also with a value, and the reason ("" without one)."""

    key: str
    why: str = ""

    def __str__(self) -> str:
        """Return the hint."""
        if not self.key:
            return f"it cannot be set: {self.why}"
        return f"use {self.key}{f': {self.why}' if self.why else ''}"


def hint(path: Path) -> str | None:
    """Return a hint for an unknown key at the end of a path: `use max_time`; None without an answer."""
    mapping, key = path[:-1], str(path[-1])
    here, near = form(mapping), misspelt(key, keys_at(mapping))
    if answer := _of_admins().get((here, _bare(key))):
        return str(answer)
    if near and _bare(near[0]).rstrip("s") == _bare(key).rstrip("s"):
        return _did_you_mean(near[0])
    if answer := _of_slurm(here, key):
        return str(answer)
    if others := [_inside(other, key) for other in _elsewhere(key)] if here in _TABLES else []:
        return f"use {' or '.join(others)}"
    return _did_you_mean(near[0]) if near else _has(mapping)


def keys_for(word: str) -> list[str]:
    """Return the keys of an inventory that a word may mean, with their mappings: `partitions[].max_time`."""
    exact = [_inside(of, word) for of, its in mappings().items() if word in its and word not in _SOURCES]
    meant = dict.fromkeys(exact)
    for here in dict.fromkeys((*_TABLES, *(mapping for mapping, _ in _of_admins()))):
        answer = _of_admins().get((here, _bare(word))) or _of_slurm(here, word)
        if answer and answer.key:
            key = answer.key.partition(":")[0]
            above, _, _ = key.rpartition(".")
            is_whole = above in mappings() if above else False
            meant[key if is_whole or key.partition(".")[0] not in mappings()[here] else _inside(here, key)] = None
    return list(meant)


def _did_you_mean(key: str) -> str:
    return f"did you mean {key}?"


def _bare(word: str) -> str:
    """Return a word as it is compared: `MaxTime`, `max_time` and `max-time` are the same."""
    return word.lower().replace("_", "").replace("-", "")


def _inside(mapping: str, key: str) -> str:
    return f"{mapping}.{key}" if mapping else key


def _from(here: str, answer: str) -> str:
    """Return an answer as seen from a mapping: its own keys without their path. A node has keys of hardware itself."""
    own = answer.removeprefix(f"{_HARDWARE}.")
    if here == _NODE and own.partition(".")[0] in mappings()[_NODE]:
        return own
    return answer.removeprefix(f"{here}.") if here else answer


@cache
def _of_admins() -> Mapping[tuple[str, str], Answer]:
    """Return the answers of guessed.tsv by mapping and word."""
    text = resources.files(__package__).joinpath("guessed.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {
        ("" if mapping == "inventory" else mapping, _bare(word)): Answer(key, why)
        for mapping, words, key, why in rows
        for word in words.split()
    }


def _of_slurm(here: str, key: str) -> Answer | None:
    """Return the answer to a term of Slurm."""
    for table in _TABLES.get(here, ()):
        kept = list(_kept(table, key))
        if always := next((each for each in kept if not each.when), None):
            if always.word:
                return Answer(_from(here, _whole(here, table, always.word)))
            return Answer("", always.why)
        if known := _terms(table).get(_bare(key)):
            return Answer(_from(here, _parameter(here, table, known)))
    return None


def _kept(table: str, key: str) -> Iterator[Own]:
    """Yield the entries of own.tsv whose key, or whose option, is a word."""
    for name, entries in own(table).items():
        for entry in entries:
            if _bare(key) == _bare(entry.option or name):
                yield entry


@cache
def _terms(table: str) -> Mapping[str, str]:
    return {_bare(name): key.name for name, key in keys(table).items()}


def _whole(here: str, table: str, word: str) -> str:
    """Return an answer of own.tsv with its whole path, unless the mapping itself has that key.

    Only the answers about partitions, QoS and accounts are without their path.
    """
    home, first = _HOME[table], word.partition(".")[0]
    is_short = table in _SHORT and first in mappings()[home]
    return (
        _inside(home, word) if is_short and not (here in map(_HOME.get, _SHORT) and first in mappings()[here]) else word
    )


def _parameter(here: str, table: str, name: str) -> str:
    home = here if here == _HARDWARE else _HOME[table]
    return f"{home}.parameters.{name}"


def _elsewhere(key: str) -> list[str]:
    """Return the mappings that have a key, if they are one or two."""
    others = [of for of, its in mappings().items() if key in its and key not in _SOURCES]
    return others if len(others) <= 2 else []


def _has(path: Path) -> str | None:
    """Return a hint with the keys of a mapping, if they are few."""
    its = [key for key in keys_at(path) if key not in _SOURCES]
    of = next((step for step in reversed(path) if isinstance(step, str)), "an inventory")
    return f"{of} has {', '.join(its)}" if 0 < len(its) <= _FEW else None
