"""Rows as text in aligned columns; in a terminal with colours, and with bars if there is room."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from .count import Row

_BAR = 10
_BOLD, _RED, _GREEN, _YELLOW = "1", "31", "32", "33"


@dataclass(frozen=True)
class Look:
    """The style of the output: `width` in characters, 0 for unlimited."""

    width: int = 0
    colour: bool = False
    bars: bool = False


@dataclass(frozen=True)
class Column:
    """A column: its head, and the function that returns a row's text. Numbers are aligned to the right."""

    head: str
    cell: Callable[[Row], str]
    right: bool = True


def look(out: TextIO, colour: str) -> Look:
    """Return the style for a stream; `colour` is auto, always or never."""
    terminal = out.isatty() and os.environ.get("TERM") not in ("dumb", "", None)
    width = os.get_terminal_size(out.fileno()).columns if terminal else 0
    coloured = colour == "always" or (colour == "auto" and terminal and not os.environ.get("NO_COLOR"))
    unicode = (out.encoding or "").lower().replace("-", "") == "utf8"
    return Look(width, coloured, terminal and unicode)


def number(value: int | None) -> str:
    """Return a number as text, or a dash for None."""
    return "-" if value is None else str(value)


def columns(by: str, types: Iterable[str]) -> list[Column]:
    """Return the columns of a breakdown by `user`, `lab` or `partition`, with one for each GPU type."""
    chosen = [Column(by.upper(), lambda row: "  " * row.depth + row.name, right=False)]
    if by == "user":
        chosen.append(Column("LAB", lambda row: row.lab or "-", right=False))
    chosen.append(Column("RUNNING", lambda row: number(row.running)))
    chosen.append(Column("PENDING", lambda row: number(row.pending)))
    if by == "lab":
        chosen.append(Column("CAP", lambda row: number(row.cap)))
        chosen.append(Column("LEFT", lambda row: number(row.left)))
    chosen.append(Column("OVERCAP", lambda row: number(row.overcap)))
    if by == "user":
        chosen.append(Column("CPUS", lambda row: number(row.cpus)))
    for name in types:
        chosen.append(Column(name, lambda row, name=name: number(row.types[name])))  # type: ignore[misc]
    return chosen


def lines(rows: Sequence[Row], total: Row, by: str, types: Sequence[str], how: Look) -> list[str]:
    """Return the table with its head and its sum; columns that do not fit are left out: bars, then types."""
    shown = columns(by, types)
    table = _aligned(rows, total, shown)
    if how.width and len(table[0]) > how.width:
        table = _aligned(rows, total, columns(by, ()))
    bars = how.bars and by == "lab" and len(table[0]) + 2 + _BAR <= how.width
    texts = []
    for row, line in zip([None, *rows, total], table, strict=True):
        text = line
        if bars and row is not None and row.cap:
            text = f"{line}  {bar((row.running - row.overcap) / row.cap)}"
        texts.append(_coloured(text, row, total) if how.colour else text)
    return texts


def bar(share: float) -> str:
    """Return a bar of ten characters, in steps of an eighth; a part above 1 is a full bar."""
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    full, rest = divmod(eighths, 8)
    return f"{'█' * full}{' ▏▎▍▌▋▊▉'[rest] if rest else ''}".ljust(_BAR, "·")


def _aligned(rows: Sequence[Row], total: Row, shown: Sequence[Column]) -> list[str]:
    cells = [[column.head for column in shown], *([column.cell(row) for column in shown] for row in (*rows, total))]
    widths = [max(len(line[number]) for line in cells) for number in range(len(shown))]
    texts = []
    for line in cells:
        parts = zip(line, widths, shown, strict=True)
        texts.append(
            "  ".join(text.rjust(width) if column.right else text.ljust(width) for text, width, column in parts)
        )
    return texts


def _coloured(text: str, row: Row | None, total: Row) -> str:
    if row is None or row is total:
        colour = _BOLD
    elif row.left == 0 and row.cap:
        colour = _RED if row.pending else _YELLOW
    else:
        colour = _GREEN if row.running else ""
    return f"\x1b[{colour}m{text}\x1b[0m" if colour else text
