"""What a twin has otherwise than production: one table, applied to production's own text, and nothing else.

`differences(…)` returns the table, `applied` the twin's files, and `unnamed` every line that differs unnamed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpupool.errors import TwinError
from gpupool.rehearsal.twin.differences import text as texts
from gpupool.rehearsal.twin.differences.text import Change


@dataclass(frozen=True)
class Difference:
    """A key of a file, or of its lines that begin with `line`; what production and the twin have there, and why.

    `change` makes the twin's value, None for no such key. `needed`: production must have the key, or the table is out
    of date. Without a key it is the whole file that the twin does not have.
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
        """The key that the line begins with: `NodeName` of `NodeName Port`."""
        return self.key.split()[0] if self.key else ""

    @property
    def word(self) -> str | None:
        """The key within the line, None where the line has one value only."""
        return self.key.split()[1] if " " in self.key else None


def applied(files: Mapping[str, str], table: tuple[Difference, ...]) -> dict[str, str]:
    """Return production's files as the twin has them. TwinError where a key that must be there is not."""
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
    """Return each line that differs between production's files and the twin's though no row of the table names it."""
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
