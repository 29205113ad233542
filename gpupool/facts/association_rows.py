"""The associations in sacctmgr's output, also if a coordinator put a line feed or | into a name.

sacctmgr escapes nothing: in its rows, a line feed or | in a name looks like the end of a row or a column. Such a name
can also forge the row of another entity, so an entity with two rows is reported as well.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gpupool.shown import Shown
from gpupool.slurm.keys.limits import ASSOC_FIELDS

_LIMITS = len(ASSOC_FIELDS)
# cluster, account, user, partition and parent come before the limits
_COLUMNS = 5 + _LIMITS


@dataclass(frozen=True)
class BadName(Shown):
    """An account or user with a line feed or | in its name.

    `above` is the parent account of an account, and the account of a user.
    """

    kind: str
    name: str
    above: str

    @property
    def item(self) -> str:
        """The entity as plans and messages show it."""
        shown = repr(self.name if len(self.name) <= 60 else self.name[:60] + "…")
        return f"{self.kind} {shown}" + (f" in account {self.above}" if self.kind == "user" else "")


@dataclass(frozen=True)
class Associations(Shown):
    """`rows`: the columns of each association; `bad`: names that break their row; `strange`: lines that are no row.

    `forged`: accounts or users with two rows.
    """

    rows: list[list[str]]
    bad: tuple[BadName, ...]
    strange: tuple[str, ...]
    forged: tuple[str, ...]


@dataclass
class _Record:
    """One association: its lines, of which there are several if a name has line feeds, and the kind of the first."""

    kind: str
    lines: list[str]

    @property
    def columns(self) -> list[str]:
        """The texts between the bars, more than `_COLUMNS` if a name has a bar."""
        return "\n".join(self.lines).split("|")

    @property
    def is_row(self) -> bool:
        """Whether no name breaks the row."""
        return len(self.lines) == 1 and len(self.columns) == _COLUMNS


def associations(lines: Sequence[tuple[str, str]]) -> Associations:
    """Return the associations from pairs of a kind and a line.

    Kind A is a row of this cluster, E a broken row of another cluster, and M continues a row after a line feed.
    """
    records, strange = _records(lines)
    ours = [record for record in records if record.kind == "A"]
    rows = [record.columns for record in ours if record.is_row]
    accounts = {row[1] for row in rows if not row[2]}
    bad_names = []
    for record in ours:
        if record.is_row:
            continue
        bad_name = _bad_name(record.columns)
        if bad_name is None:
            strange.append("\n".join(record.lines))
        elif _breaks_a_row(bad_name.name) and (bad_name.kind == "account" or bad_name.above in accounts):
            # a user below an account with a bad name is left out: slurmdbd removes both with the account
            bad_names.append(bad_name)
    keys = Counter("|".join(row[1:4]).strip("|") for row in rows)
    forged = tuple(key for key, number in keys.items() if number > 1)
    return Associations(rows, tuple(bad_names), tuple(strange), forged)


def _records(lines: Sequence[tuple[str, str]]) -> tuple[list[_Record], list[str]]:
    """Return the associations, and the lines before the first one."""
    records: list[_Record] = []
    strange: list[str] = []
    for kind, line in lines:
        if records and (kind == "M" or len(records[-1].columns) < _COLUMNS):
            records[-1].lines.append(line)
        elif kind == "M":
            strange.append(line)
        else:
            records.append(_Record(kind, [line]))
    return records, strange


def _breaks_a_row(name: str) -> bool:
    return not {"\n", "|"}.isdisjoint(name)


def _bad_name(columns: list[str]) -> BadName | None:
    """Return the account or user of a broken row; None if its name and `above` have no line feed and no |."""
    if len(columns) < _COLUMNS:
        return None
    # the parent and the limits are the last columns, and a coordinator cannot put a | into limits
    names, parent = columns[1 : -_LIMITS - 1], columns[-_LIMITS - 1]
    if names[-2:] == ["", ""]:
        bad_name = BadName("account", "|".join(names[:-2]), parent)
    else:
        bad_name = BadName("user", "|".join(names[1:-1]), names[0])
    return bad_name if _breaks_a_row(bad_name.name + bad_name.above) else None
