"""The comparison of a restored database with the live database, for the same period."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gpupool.documents.runs import DrillDocument

Style = str


@dataclass(frozen=True)
class Row:
    """One line of the comparison: the number restored and the live number; `why` if something is missing."""

    what: str
    restored: int
    live: int
    why: str = ""


@dataclass(frozen=True)
class Restored:
    """The result of a drill: the backups, the daemons started with them, and the rows of the comparison."""

    backups: Sequence[str]
    started: str
    rows: Sequence[Row] = field(default_factory=tuple)

    @property
    def ok(self) -> bool:
        """Return whether nothing is missing."""
        return not any(row.why for row in self.rows)

    def as_dict(self) -> DrillDocument:
        """Return the result as plain JSON types."""
        return {
            "ok": self.ok,
            "backups": list(self.backups),
            "started": self.started,
            "rows": [
                {"what": row.what, "restored": row.restored, "live": row.live, "why": row.why} for row in self.rows
            ],
        }

    def lines(self) -> Iterator[tuple[str, Style]]:
        """Yield the lines for a screen, each with its style."""
        for backup in self.backups:
            yield backup, ""
        width = max(len(row.what) for row in self.rows)
        yield f"{'':{width}}  restored      live", "bold"
        for row in self.rows:
            yield f"{row.what:{width}}  {row.restored:8}  {row.live:8}  {row.why}".rstrip(), "red" if row.why else ""
        yield self.started, ""
        bad = sum(bool(row.why) for row in self.rows)
        summary = f"{bad} of {len(self.rows)} differ from the cluster" if bad else "the backups can be restored"
        yield summary, "bold red" if bad else "bold green"


Parts = Mapping[str, list[str]]


def parts(text: str) -> Parts:
    """Return the lines of each part of the output of `database.sh`."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("== "):
            lines = sections.setdefault(line[3:], [])
        elif line:
            lines.append(line)
    return sections


def rows(restored: Parts, live: Parts) -> Iterator[Row]:
    """Yield the comparison of the restored with the live database."""
    yield from _months(restored["months"], live["months"])
    yield _same("associations", restored["associations"], live["associations"], "not changed since are missing")
    # both must have the same lines
    back, current = set(restored.get("jobs", ())), set(live.get("jobs", ()))
    differ = len(back ^ current)
    why = f"{differ} lines of sacct differ, such as {sorted(back ^ current)[0]}" if differ else ""
    yield Row(f"the last {len(restored['last'])} ended jobs and their steps", len(back), len(current), why)


def _months(restored: Sequence[str], live: Sequence[str]) -> Iterator[Row]:
    back = {line.split("\t")[0]: int(line.split("\t")[1]) for line in restored}
    current = {line.split("\t")[0]: line.split("\t")[1:] for line in live}
    for month in sorted({*back, *current}):
        has, (all_of_them, unchanged) = back.get(month, 0), map(int, current.get(month, ("0", "0")))
        # the backup must have all jobs that are unchanged since, and may have jobs that the cluster has purged since
        why = f"{unchanged - has} jobs are missing" if unchanged > has else ""
        yield Row(f"jobs of {month}", has, all_of_them, why)


def _same(what: str, restored: Sequence[str], live: Sequence[str], why: str) -> Row:
    missing = set(live) - set(restored)
    return Row(what, len(restored), len(live), f"{len(missing)} {why}" if missing else "")


def queue(restored: Sequence[str], live: Sequence[str]) -> Row:
    """Return the comparison of slurmctld's jobs; jobs that have ended since are only in the backup."""
    return _same("jobs of slurmctld that have not ended", restored, live, "are missing")
