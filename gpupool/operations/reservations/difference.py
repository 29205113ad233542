"""Compare Slurm's reservations with the wanted ones, and compute the commands that change them.

A record on the controller has the reservations that gpupool has created; all others are never changed. Times are the
controller's local times, as Slurm uses them to repeat a reservation.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gpupool.change import ABSENT, Aspect, Change, Kind
from gpupool.facts.reservations import RECORD, Live, ReservationsState
from gpupool.shell import shell_file, values
from gpupool.slurm import times
from gpupool.slurm.hostlists import expand
from gpupool.wanted import Reservation

FUNCTIONS = values(record=RECORD) + shell_file(__package__, "reservations.sh")
_SOON = timedelta(minutes=1)  # slurmctld refuses a start time in the past
_SATURDAY = 5


@dataclass
class Difference:
    """The changes by name, and the lines of a script that makes them.

    `strange` are wanted names that other reservations already have; `over` are reservations that have ended for good.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    over: list[str] = field(default_factory=list)

    def do(self, name: str, differs: Aspect, *command: str) -> None:
        """Add a line to the script, with the change that it makes to the reservation."""
        change = Change(Kind.OTHER, f"reservation {name}", (differs,))
        self.changes[change.name] = change
        self.lines.append(shlex.join(command))

    def script(self) -> str:
        """Return the shell text that makes all changes, and fails at its end if slurmctld has refused some."""
        return "\n".join([FUNCTIONS.rstrip(), *self.lines, "finish"]) + "\n"


def difference(state: ReservationsState, wanted: Sequence[Reservation]) -> Difference:
    """Return the changes after which all wanted reservations exist, and no others that gpupool has created."""
    todo = Difference()
    now = state.now or datetime.now()
    names = {one.name for one in wanted}
    for name in state.made:
        if name not in names and name in state.live:
            removed = Aspect(ABSENT, "made by gpupool", note="removed: it is not in the inventory")
            todo.do(name, removed, "remove", name)
        elif name not in names:
            note = "no longer managed: it has ended, and is not in the inventory"
            todo.do(name, Aspect(ABSENT, "ended", note=note), "keep", name, "")
    for one in wanted:
        _one(todo, state, one, now)
    return todo


def _one(todo: Difference, state: ReservationsState, one: Reservation, now: datetime) -> None:
    start, live, ours = datetime.fromisoformat(one.start), state.live.get(one.name), state.made.get(one.name)
    end = start + timedelta(seconds=one.duration)
    if not one.every and end <= now + _SOON:
        todo.over.append(one.name)
    elif live is None:
        # a reservation that has begun and is missing was deleted, or ended by free_after
        if one.every or start > now or ours != one.start:
            fields = (*_fields(one), *_flags(one))
            todo.do(one.name, Aspect(note=_description(one)), "make", one.name, one.start, *_time(one, now), *fields)
    elif differs := _differs(live, one, now):
        if ours is None:
            todo.strange.append(one.name)
            return
        if (update := _update(live, one, now, differs)) is not None:
            changed = Aspect(f"other {', '.join(differs)}", "as it is", note=f"changed: {', '.join(differs)}")
            todo.do(one.name, changed, "change", one.name, one.start, *update)
        else:
            update = (*_time(one, now), *_fields(one), *_flags(one))
            replaced = Aspect(f"other {', '.join(differs)}", "as it is", note=f"replaced: {', '.join(differs)}")
            todo.do(one.name, replaced, "replace", one.name, one.start, *update)
    elif ours != one.start:
        note = "already as the inventory says, and managed from now on"
        todo.do(one.name, Aspect("managed", "not managed", note=note), "keep", one.name, one.start)


def next_start(one: Reservation, now: datetime) -> datetime:
    """Return the next start of a reservation: its start, or the next time if it recurs and has started."""
    start = datetime.fromisoformat(one.start)
    if start > now + _SOON or not one.every:
        return start
    step = 7 if one.every == "WEEKLY" else 1
    start += timedelta(days=max(0, (now - start).days // step * step))
    while start <= now + _SOON or not _fits(one.every, start):
        start += timedelta(days=step)
    return start


def _fits(every: str, day: datetime) -> bool:
    if every in ("WEEKDAY", "WEEKEND"):
        return (day.weekday() >= _SATURDAY) == (every == "WEEKEND")
    return True


def _differs(live: Live, one: Reservation, now: datetime) -> list[str]:
    """Return the names of the parts in which a live reservation differs from the wanted one."""
    nodes = tuple(sorted(expand(one.nodes))) if one.nodes else ()
    gpus = {gpu: live.gpus.get(gpu, 0) for gpu in one.gpus}
    amount = (live.nodes == nodes) if one.nodes else (len(live.nodes) == one.node_count or not one.node_count)
    same = {
        "time": _same_time(live, one, now),
        "nodes": amount and live.chosen == bool(one.nodes),
        "GPUs": gpus == dict(one.gpus),
        "partition": live.partition == one.partition,
        "accounts": live.accounts == tuple(sorted(one.accounts)),
        "users": live.users == tuple(sorted(one.users)),
        "every": live.every == one.every,
        "flags": live.flags == tuple(sorted(one.flags)),
        "free_after": live.free_after == one.free_after,
    }
    return [what for what, fine in same.items() if not fine]


def _same_time(live: Live, one: Reservation, now: datetime) -> bool:
    start = datetime.fromisoformat(one.start)
    if not one.every:
        if live.start == start:
            return live.duration == one.duration
        # created after its wanted start
        return start < live.start <= now and live.end == start + timedelta(seconds=one.duration)
    if live.duration != one.duration:
        return False
    if start > now:
        return live.start == start
    # Slurm moves a recurring reservation to its next time when it has ended
    on_its_day = one.every != "WEEKLY" or live.start.weekday() == start.weekday()
    return live.start >= start and live.start.time() == start.time() and on_its_day


def _update(live: Live, one: Reservation, now: datetime, differs: Sequence[str]) -> tuple[str, ...] | None:
    """Return the arguments of `scontrol update`, which keeps jobs running; None if an update is not possible.

    Only different fields are set: a start time would move a recurring reservation that has begun to its next time.
    """
    wanted = dict(field.split("=", 1) for field in _fields(one))
    keys = {"nodes": "Nodes", "accounts": "Accounts", "users": "Users"}
    had = {"Nodes": live.chosen, "Accounts": bool(live.accounts), "Users": bool(live.users)}
    if not set(differs) <= {"time", *keys} or any(had[key] != (key in wanted) for key in had):
        return None
    fields = tuple(f"{keys[part]}={wanted[keys[part]]}" for part in differs if part in keys and keys[part] in wanted)
    if "nodes" in differs and not one.nodes:
        return None
    if "time" not in differs:
        return fields
    time = _time(one, now)
    begun = not one.every and live.start <= now and live.start == datetime.fromisoformat(one.start)
    return (*(time[1:] if begun else time), *fields)


def _time(one: Reservation, now: datetime) -> tuple[str, ...]:
    start = next_start(one, now)
    if start <= now + _SOON:  # not recurring, and already begun
        end = start + timedelta(seconds=one.duration)
        return "StartTime=now", f"EndTime={end.isoformat()}"
    return f"StartTime={start.isoformat()}", f"Duration={one.duration // 60}"


def _fields(one: Reservation) -> tuple[str, ...]:
    gpus = ",".join(f"gres/gpu:{gpu}={count}" if gpu else f"gres/gpu={count}" for gpu, count in one.gpus.items())
    fields = {
        "Nodes": one.nodes,
        "NodeCnt": str(one.node_count or ""),
        "TRES": gpus,
        "PartitionName": one.partition,
        "Accounts": ",".join(one.accounts),
        "Users": ",".join(one.users),
    }
    return tuple(f"{key}={value}" for key, value in fields.items() if value)


def _flags(one: Reservation) -> tuple[str, ...]:
    purge = f"PURGE_COMP={times.duration(one.free_after // 60 * 60, days=True)}" if one.free_after else ""
    flags = [flag for flag in (one.every, *one.flags, purge) if flag]
    return (f"Flags={','.join(flags)}",) if flags else ()


def _description(one: Reservation) -> str:
    every = {"DAILY": "every day", "WEEKDAY": "every weekday", "WEEKEND": "every weekend", "WEEKLY": "every week"}
    return " ".join(["made:", *_fields(one), *_flags(one), "from", one.start, every.get(one.every, "")]).strip()
