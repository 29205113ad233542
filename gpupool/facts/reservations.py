"""The reservations in slurmctld, and which of them gpupool has created.

`ask_text` and `read` do the same without pyinfra.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask, complete_lines
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.slurm import reservations

#: Names and starts of the reservations that gpupool has created, one per line; written by `operations.reservations`.
RECORD = "/var/lib/gpupool/reservations"
EVERY = ("DAILY", "WEEKDAY", "WEEKEND", "WEEKLY", "HOURLY")
_OURS = ("MAINT", "IGNORE_JOBS", "FLEX")
_LOOK = shell_file(__package__, "reservations.sh")


@dataclass(frozen=True)
class Live(Shown):
    """A reservation in slurmctld, in its current or next period; durations in seconds.

    Names are sorted. `chosen`: its nodes were given, not selected by Slurm. `flags`: the flags that the inventory can
    set.
    """

    name: str
    start: datetime
    end: datetime
    duration: int
    nodes: tuple[str, ...]
    chosen: bool
    gpus: Mapping[str, int]
    partition: str
    accounts: tuple[str, ...]
    users: tuple[str, ...]
    every: str
    flags: tuple[str, ...]
    free_after: int


@dataclass(frozen=True)
class ReservationsState(Shown):
    """`now` on the node's clock; `made`: starts of gpupool's reservations by name; `trouble`: why none were read."""

    now: datetime | None = None
    made: Mapping[str, str] = field(default_factory=dict)
    live: Mapping[str, Live] = field(default_factory=dict)
    trouble: str | None = None


class Reservations(Fact[ReservationsState]):
    """All reservations; slurmctld is not asked if none is `wanted` and gpupool has created none."""

    def command(self, wanted: bool) -> StringCommand:
        """Ask slurmctld, and read the record."""
        return ask(_LOOK, RECORD, "wanted" if wanted else "")

    def read(self, lines: list[str]) -> ReservationsState:
        """Read the answer."""
        return _state(lines)


def ask_text() -> str:
    """Return the shell text that asks for the reservations; `read` parses its output."""
    return str(ask(_LOOK, RECORD, "wanted").get_raw_value())


def read(output: str) -> ReservationsState | None:
    """Return the state from the output of `ask_text`; None if the output is incomplete."""
    lines = complete_lines(output.splitlines())
    return None if lines is None else _state(lines)


def _state(lines: Iterable[str]) -> ReservationsState:
    now, trouble = None, None
    made: dict[str, str] = {}
    shown: list[str] = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "T":
            now = datetime.fromisoformat(rest)
        elif kind == "R":
            name, _, made[name] = rest.partition(" ")
        elif kind == "S":
            shown.append(rest)
        elif kind == "X":
            trouble = rest or "scontrol is not installed"
    live = {name: _live(one) for name, one in reservations.read("\n".join(shown)).items()}
    return ReservationsState(now, made, live, trouble)


def _live(one: reservations.Reservation) -> Live:
    return Live(
        name=one.name,
        start=one.start,
        end=one.end,
        duration=one.duration,
        nodes=tuple(sorted(one.nodes)),
        chosen="SPEC_NODES" in one.flags,
        gpus=one.gpus,
        partition=one.partition,
        accounts=tuple(sorted(one.accounts)),
        users=tuple(sorted(one.users)),
        every=next((every for every in EVERY if every in one.flags), ""),
        flags=tuple(sorted(one.flags & set(_OURS))),
        free_after=one.free_after,
    )
