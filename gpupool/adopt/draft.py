"""An inventory that is being written: its data, and for each fact of the cluster's files what has become of it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from gpupool.adopt.lines import Fact
from gpupool.cluster.complaints import Path, Place, dotted
from gpupool.slurm.keys.tables import of_groups

#: taken: a key of the language says it; kept: in Slurm's own words; same: gpupool writes it anyway; added: no file of
#: the cluster has it.
How = Literal["taken", "kept", "same", "not taken", "added"]
# a number that YAML and Slurm read alike
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
# keys without which their entry would not exist
_NEEDED = frozenset(("name", "roles", "cpus", "real_memory", "nodes", "models", "kind", "schema", "network", "managed"))


@dataclass(frozen=True)
class Fate:
    """The fate of a fact: `where` is the path in the inventory, or the reason why it has none."""

    how: How
    where: str


class Draft:
    """The data of an inventory by path, and the fates of facts."""

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.facts: dict[tuple[Place, str], Fact] = {}
        self.fates: dict[tuple[Place, str], list[Fate]] = {}
        self.added: dict[Path, tuple[str, str]] = {}
        self._from: dict[Path, list[Fact]] = {}

    def leaves(self, table: str, key: str) -> bool:
        """Return whether `slurm.left` leaves a key of a table to the site: it stays in Slurm's own words."""
        return key.lower() in of_groups(table, self.data.get("slurm", {}).get("left", ()))

    def say(self, path: Path, value: Any, *facts: Fact | None) -> None:
        """Set a key of the language, which these facts become. None among the facts is left out."""
        self._set(path, value)
        self._note(path, Fate("taken", dotted(self._general(path))), facts)

    def keep(self, path: Path, fact: Fact) -> None:
        """Keep a fact in Slurm's own words, in the parameters at `path`."""
        self._set((*path, fact.key), int(fact.value) if _NUMBER.fullmatch(fact.value) else fact.value)
        self._note((*path, fact.key), Fate("kept", dotted(self._general(path))), [fact])

    def keep_in(self, file: str, *facts: Fact) -> None:
        """Record that facts stay in a file of the site, which the inventory has whole, whatever words say as well."""
        for fact in facts:
            self.facts[_id(fact)], self.fates[_id(fact)] = fact, [Fate("kept", f"{file}, the site's own file")]

    def add(self, path: Path, value: Any, why: str) -> None:
        """Set a key that no file of the cluster has, with the reason."""
        self._set(path, value)
        self.added[path] = (f"{path[-1]}={value}", f"{dotted(self._general(path))}: {why}")

    def drop(self, why: str, *facts: Fact | None) -> None:
        """Record why facts are not taken."""
        self._note(None, Fate("not taken", why), facts)

    def same(self, fact: Fact) -> None:
        """Record that gpupool writes a fact without a key in the inventory."""
        self.fates[_id(fact)] = [Fate("same", "gpupool writes the same")]

    def is_lost(self, fact: Fact) -> bool:
        """Return whether a fact is not taken, at least in part."""
        return any(fate.how == "not taken" for fate in self.fates.get(_id(fact), ()))

    def append(self, key: str) -> Path:
        """Return the path of another item of a top-level list."""
        items = self.data.setdefault(key, [])
        items.append({})
        return (key, len(items) - 1)

    def prune(self, path: Path, why: str) -> bool:
        """Remove the key that a complaint is about, with the reason; False if its entry cannot be without it."""
        while path and not self._has(path):
            path = path[:-1]
        while path and (isinstance(path[-1], int) and len(path) > 2):  # an item of a list: the whole list
            path = path[:-1]
        least = 3 if path and path[0] in ("nodes", "hardware", "partitions", "gpu_types", "accounts", "qos") else 2
        if len(path) < least or path[-1] in _NEEDED:
            return False
        above = self._at(path[:-1])
        del above[path[-1]]
        for place, facts in self._from.items():
            if place[: len(path)] == path:
                fates = Fate("not taken", why)
                for fact in facts:
                    self._replace(fact, place, fates)
        return True

    def _replace(self, fact: Fact, place: Path, fate: Fate) -> None:
        fates = self.fates[_id(fact)]
        gone = {dotted(self._general(place)), dotted(self._general(place[:-1]))}
        self.fates[_id(fact)] = [*(one for one in fates if one.where not in gone and one != fate), fate]

    def _note(self, path: Path | None, fate: Fate, facts: Iterable[Fact | None]) -> None:
        for fact in facts:
            if fact is None:
                continue
            self.facts[_id(fact)] = fact
            known = self.fates.setdefault(_id(fact), [])
            if fate not in known:
                known.append(fate)
            if path is not None:
                self._from.setdefault(path, []).append(fact)

    def _general(self, path: Path) -> Path:
        """Return a path with the name of its partition; without a number for other lists: a line may be two entries."""
        if len(path) < 2 or not isinstance(path[1], int):
            return path
        names = (self.data["partitions"][path[1]].get("name"),) if path[0] == "partitions" else ()
        return (path[0], *filter(None, names), *path[2:])

    def _has(self, path: Path) -> bool:
        try:
            self._at(path)
        except (KeyError, IndexError, TypeError):
            return False
        return True

    def _at(self, path: Path) -> Any:
        value: Any = self.data
        for step in path:
            value = value[step]
        return value

    def _set(self, path: Path, value: Any) -> None:
        at: Any = self.data
        for step in path[:-1]:
            at = at.setdefault(step, {}) if isinstance(step, str) else at[step]
        at[path[-1]] = value


def rows(draft: Draft) -> Iterator[tuple[Fact, Fate]]:
    """Yield each fact with its fates, in the order of the files."""
    for key in sorted(draft.fates, key=lambda key: (key[0].file, key[0].line)):
        for fate in draft.fates[key]:
            yield draft.facts[key], fate


def _id(fact: Fact) -> tuple[Place, str]:
    return fact.place, fact.key.lower()
