"""The differences between twin and production: one table, applied to production's files.

`differences(…)` returns the table, `applied` the twin's files, and `unnamed` all differences outside the table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpupool.errors import TwinError
from gpupool.rehearsal.twin.differences import text as texts
from gpupool.rehearsal.twin.differences.text import Change


@dataclass(frozen=True)
class Difference:
    """A setting that differs between production and twin: its file and key, both values as text, and the reason.

    `key` is `KEY`, or `LINE KEY` for a key within lines that begin with LINE; if it is "", the twin lacks the file.
    `change` returns the twin's value, or None to remove the key. A `needed` key must be in production's file.
    """

    file: str
    key: str
    production: str
    twin: str
    why: str
    change: Change
    needed: bool = False

    @property
    def line(self) -> str:
        """Return the key that begins the line: `NodeName` of `NodeName Port`."""
        return self.key.split()[0] if self.key else ""

    @property
    def word(self) -> str | None:
        """Return the key within the line; None if the line has a single key."""
        return self.key.split()[1] if " " in self.key else None


def applied(files: Mapping[str, str], table: tuple[Difference, ...]) -> dict[str, str]:
    """Return production's files with the twin's changes. TwinError if a needed key is missing."""
    twin: dict[str, str] = {}
    for path, text in files.items():
        mine = [row for row in table if fnmatchcase(path, row.file)]
        if any(not row.key for row in mine):
            continue
        for row in mine:
            if path.endswith(".json"):
                text, seen = texts.changed_json(text, row.line, row.change)
            else:
                text, seen = texts.changed(text, row.line, row.word, row.change)
            if row.needed and not seen:
                raise TwinError(
                    f"the table of differences has {row.key} in {path}, which production's file does not have: "
                    "bring the table and the file together"
                )
        twin[path] = text
    return twin


def unnamed(production: Mapping[str, str], twin: Mapping[str, str], table: tuple[Difference, ...]) -> list[str]:
    """Return each line that differs between production's and the twin's files without a row in the table."""
    return [f"{path}: {line}" for path in sorted({*production, *twin}) for line in _of(path, production, twin, table)]


def _of(
    path: str, production: Mapping[str, str], twin: Mapping[str, str], table: tuple[Difference, ...]
) -> Iterator[str]:
    mine = [row for row in table if fnmatchcase(path, row.file)]
    if any(not row.key for row in mine) and path not in twin:
        return
    if path not in production or path not in twin:
        yield f"only {'the twin' if path in twin else 'production'} has this file"
        return
    keys = {(row.line, row.word) for row in mine}
    yield from texts.differing(texts.masked(production[path], keys), texts.masked(twin[path], keys))
