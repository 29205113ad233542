"""The associations in the answer of sacctmgr, whatever names a coordinator gave to accounts and users.

sacctmgr escapes nothing: in its rows, a line feed or | in a name looks like the end of a row or a column. Such a name
can also forge the row of another entity, so an entity with two rows is reported as well.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gpupool.slurm.keys.limits import ASSOC_FIELDS

#: Cluster, account, user, partition and parent come before the fields with limits.
KEYS = 5
_BARS = KEYS + len(ASSOC_FIELDS) - 1


@dataclass(frozen=True)
class BadName:
    """An account, or a user of an account, whose name has a line feed or |; `above`: its parent, or the account."""

    kind: str
    name: str
    above: str

    @property
    def item(self) -> str:
        """The entity as plans and messages show it."""
        shown = repr(self.name if len(self.name) <= 60 else self.name[:60] + "…")
        return f"{self.kind} {shown}" + (f" in account {self.above}" if self.kind == "user" else "")


@dataclass(frozen=True)
class Associations:
    """`rows`: the columns of each association; `bad`: names that break their row; `strange`: lines that are no row.

    `forged`: accounts or users with two rows.
    """

    rows: list[list[str]]
    bad: tuple[BadName, ...]
    strange: tuple[str, ...]
    forged: tuple[str, ...]


def associations(lines: Sequence[tuple[str, str]]) -> Associations:
    """Return the associations from lines with their kind: A of this cluster, E broken of another, M rest of a row."""
    records, strange = _records(lines)
    rows = [text.split("|") for kind, text in records if kind == "A" and _is_row(text)]
    accounts = {row[1] for row in rows}
    bad = []
    for text in (text for kind, text in records if kind == "A" and not _is_row(text)):
        found = _bad_name(text.partition("|")[2], accounts) if text.count("|") > _BARS or "\n" in text else None
        if found is None:
            strange.append(text)
        elif found.kind == "account" or found.above in accounts:
            bad.append(found)
    keys = Counter("|".join(row[1:4]).strip("|") for row in rows)
    forged = tuple(key for key, number in keys.items() if number > 1)
    return Associations(rows, tuple(bad), tuple(strange), forged)


def _records(lines: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the rows with their kind, in which a name may have line feeds, and the lines before the first row."""
    records: list[tuple[str, str]] = []
    strange: list[str] = []
    for kind, line in lines:
        if records and (kind == "M" or records[-1][1].count("|") < _BARS):
            start, text = records[-1]
            records[-1] = (start, f"{text}\n{line}")
        elif kind == "M":
            strange.append(line)
        else:
            records.append((kind, line))
    return records, strange


def _is_row(text: str) -> bool:
    return text.count("|") == _BARS and "\n" not in text


def _bad_name(record: str, accounts: set[str]) -> BadName | None:
    """Return the account or user of a record without its cluster; None if its name is valid, or cannot be found."""
    before, *after = record.rsplit("|", 1 + len(ASSOC_FIELDS))
    if len(after) <= len(ASSOC_FIELDS):
        return None
    if before.endswith("||"):
        bad = BadName("account", before[:-2], after[0])
    else:
        account = next((name for name in accounts if before.startswith(f"{name}|")), "")
        bad = BadName("user", before.removeprefix(f"{account}|").rpartition("|")[0], account)
    return bad if {"\n", "|"} & set(bad.name) else None
