"""The tables in this folder: the keys of Slurm's files and of sacctmgr, and the keys that gpupool reserves."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from gpupool.slurm.releases import within

#: Groups of `slurm.left` without which a job gets past the cap of a lab; the arbiter and its guard count on them, too.
NEEDED_BY_CAPS = frozenset(("cgroups", "enforce", "submit", "order", "select", "gpus", "preemption", "limits"))


@dataclass(frozen=True)
class Key:
    """A key in Slurm's spelling. `since` is the first release that has it, `before` the first without it; "" if none.

    `value` is the kind of its value: text, number, number from 0 to 2, ratio, yes or no. For a QoS or an association it
    is the column that shows the value.
    """

    name: str
    since: str
    before: str
    value: str

    def known_in(self, release: str) -> bool:
        """Return whether a release of Slurm knows the key."""
        return within(release, self.since, self.before)


@dataclass(frozen=True)
class Own:
    """A key, or an option of its list, that an inventory cannot set: `word` is the setting to use, `why` a reason."""

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
    """Return the keys of a table that gpupool reserves, by name in lower case."""
    by_key: dict[str, tuple[Own, ...]] = {}
    for of, key, *rest in rows("own"):
        if of == table:
            name, _, option = key.lower().partition(":")
            by_key[name] = (*by_key.get(name, ()), Own(option, *rest))
    return by_key


@cache
def left(table: str) -> Mapping[str, str]:
    """Return the group of `slurm.left` of each key of a table that has one, by the key's name in lower case."""
    return {key.lower(): group for group, of, key in rows("left") if of == table}


def of_groups(table: str, groups: Iterable[str]) -> frozenset[str]:
    """Return the keys of a table, in lower case, that are in one of these groups of `slurm.left`."""
    chosen = {*groups}
    return frozenset(key for key, group in left(table).items() if group in chosen)


def rows(table: str) -> Iterator[list[str]]:
    """Return the rows of a table, without its head."""
    text = resources.files(__package__).joinpath(f"{table}.tsv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return (line.split("\t") for line in lines[1:])
