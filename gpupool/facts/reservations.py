"""The reservations that slurmctld has, and which of them gpupool has made.

`ask_text` and `read` do without pyinfra what the fact does.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from ClusterShell.NodeSet import NodeSet
from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask, whole
from gpupool.shell import shell_file

#: The names and starts of those that gpupool has made, a line each; `operations.reservations` writes it.
RECORD = "/var/lib/gpupool/reservations"
EVERY = ("DAILY", "WEEKDAY", "WEEKEND", "WEEKLY", "HOURLY")
_OURS = ("MAINT", "IGNORE_JOBS", "FLEX")
_LOOK = shell_file(__package__, "reservations.sh")
_TIME = re.compile(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)")


@dataclass(frozen=True)
class Live:
    """A reservation as slurmctld has it: the next time that it comes, or the present one; durations in seconds.

    Names are in order. `chosen`: its nodes were named, and not chosen by Slurm. `flags`: those that the inventory has
    words for.
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
class ReservationsState:
    """`now` on the node's clock; `made`: the starts of gpupool's own by name; `trouble`: why slurmctld says nothing."""

    now: datetime | None = None
    made: Mapping[str, str] = field(default_factory=dict)
    live: Mapping[str, Live] = field(default_factory=dict)
    trouble: str | None = None


class Reservations(Look[ReservationsState]):
    """All at once; nothing is asked where none is `wanted` and gpupool has made none."""

    def command(self, wanted: bool) -> StringCommand:
        """Ask slurmctld, and read the record."""
        return ask(_LOOK, RECORD, "wanted" if wanted else "")

    def read(self, lines: list[str]) -> ReservationsState:
        """Read the answer."""
        return _state(lines)


def ask_text() -> str:
    """Return the shell text that asks; `read` takes what it prints."""
    return str(ask(_LOOK, RECORD, "wanted").get_raw_value())


def read(output: str) -> ReservationsState | None:
    """Read what `ask_text` printed; None when the answer was cut short."""
    lines = whole(output.splitlines())
    return None if lines is None else _state(lines)


def _state(lines: Iterable[str]) -> ReservationsState:
    now, trouble = None, None
    made: dict[str, str] = {}
    live: dict[str, Live] = {}
    for line in lines:
        kind, _, rest = line.partition(" ")
        if kind == "T":
            now = datetime.fromisoformat(rest)
        elif kind == "R":
            name, _, made[name] = rest.partition(" ")
        elif kind == "S" and rest.startswith("ReservationName="):
            one = _live(rest)
            live[one.name] = one
        elif kind == "X":
            trouble = rest or "scontrol is not installed"
    return ReservationsState(now, made, live, trouble)


def _live(line: str) -> Live:
    # the first of a name: the cores of a node follow as NodeName=… CoreIDs=…
    values: dict[str, str] = {}
    for key, value in re.findall(r"(?:^| )([A-Za-z]+)=(\S*)", line):
        values.setdefault(key, "" if value == "(null)" else value)
    flags = values.get("Flags", "").split(",")
    purge = next((it for it in flags if it.startswith("PURGE_COMP")), "")
    return Live(
        name=values["ReservationName"],
        start=datetime.fromisoformat(values["StartTime"]),
        end=datetime.fromisoformat(values["EndTime"]),
        duration=_seconds(values["Duration"]),
        nodes=tuple(sorted(NodeSet(values.get("Nodes", "")))),
        chosen="SPEC_NODES" in flags,
        gpus=_gpus(values.get("TRES", "")),
        partition=values.get("PartitionName", ""),
        accounts=_names(values.get("Accounts", "")),
        users=_names(values.get("Users", "")),
        every=next((it for it in flags if it in EVERY), ""),
        flags=tuple(sorted(it for it in flags if it in _OURS)),
        free_after=_seconds(purge.partition("=")[2]),
    )


def _gpus(tres: str) -> dict[str, int]:
    pairs = (word.partition("=") for word in tres.split(",") if word.startswith("gres/gpu"))
    return {name.removeprefix("gres/gpu").removeprefix(":"): int(count) for name, _, count in pairs if count.isdigit()}


def _names(listed: str) -> tuple[str, ...]:
    return tuple(sorted(name for name in listed.split(",") if name))


def _seconds(time: str) -> int:
    match = _TIME.fullmatch(time)
    if not match:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return days * 86400 + hours * 3600 + minutes * 60 + seconds
