"""The keys that Slurm's files and sacctmgr know, and those that gpupool keeps to itself: the tables of this folder."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Key:
    """A key as Slurm spells it; `until` is the last version that knows it, empty while it still does.

    `value` is what it takes: text, number, number from 0 to 2, ratio, yes or no; of qos and association the column that
    it is read by.
    """

    name: str
    first: str
    until: str
    value: str

    def known_in(self, version: str) -> bool:
        """Return whether a version of Slurm knows it."""
        return self.first <= version and (not self.until or version <= self.until)


@dataclass(frozen=True)
class Own:
    """Why an inventory cannot set a key, or one option of its list: a word says the same, or there is a reason."""

    option: str
    when: str
    word: str
    why: str


@cache
def keys(table: str) -> Mapping[str, Key]:
    """Return the keys of a table by their names in lower case, as Slurm compares them."""
    return {name.lower(): Key(name, *rest) for name, *rest in rows(table)}


@cache
def own(table: str) -> Mapping[str, tuple[Own, ...]]:
    """Return what gpupool keeps of a table, by key in lower case."""
    by_key: dict[str, tuple[Own, ...]] = {}
    for of, key, *rest in rows("own"):
        if of == table:
            name, _, option = key.lower().partition(":")
            by_key[name] = (*by_key.get(name, ()), Own(option, *rest))
    return by_key


def rows(table: str) -> Iterator[list[str]]:
    """Return the rows of a table, without its head."""
    text = resources.files(__package__).joinpath(f"{table}.tsv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return (line.split("\t") for line in lines[1:])
