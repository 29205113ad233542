"""systemd units: running, enabled, and restarted only if a file that they read has changed since they started.

A run may be killed between replacing a file and restarting the daemon. So the decision does not depend on the changes
of this run, but on whether the unit runs with the files on the node. There are two sources:

- A stamp, `/var/lib/gpupool/units/UNIT`: the unit's InvocationID, the start of its main process, and the sha256 of each
  watched file, computed before gpupool's last start, restart or reload and written only after that succeeded. If the
  unit still has this process, the stamp decides: for a file that needs a restart, clocks do not matter, nor does a file
  that was rewritten with the same text.
- Without a valid stamp (the unit was started by an admin or a reboot, or `scontrol reconfigure` replaced its process),
  the file's ctime is compared with the start of the unit: a file that is put back keeps its mtime. A node that was
  correct before gpupool managed it is not changed and gets no stamp.

A reload leaves no trace in many daemons. So a file that is read on a reload counts as unread too if it was written
after the stamp: an admin may have changed it, reloaded the unit and put the file back, and the unit would run with what
no file has. Times alone would cause a restart for each file rewritten with the same text, and be wrong after a clock
was stepped. The stamp alone would restart every daemon that an admin has already restarted.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupool.change import Aspect, Kind
from gpupool.effect import Effect
from gpupool.facts.service import Unit, UnitFiles, UnitState
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import executing, this_host
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.reading import KEEPING
from gpupool.operations.work import Work
from gpupool.shell import shell_file
from gpupool.unix import UNITS

_UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]+\.(service|socket|timer|path|target|mount)")
#: systemd's states of a unit that runs.
UP = ("active", "reloading", "refreshing")
_ENABLED = ("enabled", "enabled-runtime", "static", "alias", "indirect", "generated", "linked")

_PRELUDE = KEEPING + shell_file(__package__, "service.sh")

_AT_BOOT = Aspect("starts at boot", "does not start at boot")
_RUNS = Aspect("runs", "stopped")


#: Command that applies settings of slices and of logind at once. systemd applies the settings of a running slice to the
#: kernel only when the next unit of `user.slice` starts; logind reads its file when it gets this signal.
READ_SHARES = [
    *("sh", "-c"),
    "systemctl daemon-reload && systemctl kill --signal=HUP systemd-logind && "
    "systemd-run --quiet --scope --slice=user.slice true",
]


@dataclass(frozen=True)
class Unread:
    """Why a unit has not read a file: this run will change it (`coming`), or it was changed before (`since`, as text).

    `keys` are the names of the different keys, as text. `between`: the text is the one of the last load, but a reload
    may have read another one since then.
    """

    coming: bool = False
    since: str = ""
    keys: str = ""
    between: bool = False


@dataclass(frozen=True)
class Weighed:
    """The files that a unit has to read, and which of them need a restart; `tell`: reload before the restart."""

    unread: Mapping[str, Unread]
    restarts: Collection[str]
    tell: bool = False


@dataclass(frozen=True)
class Wanted:
    """A wanted unit: `restart_if` and `reload_if` are paths; with `enabled` None, its start at boot is not changed.

    `reload_command` replaces `systemctl reload`.
    """

    unit: str
    enabled: bool | None = True
    restart_if: Sequence[str] = ()
    reload_if: Sequence[str] = ()
    reload_command: Sequence[str] = ()

    @property
    def paths(self) -> list[str]:
        """The files that the unit reads."""
        return list(dict.fromkeys([*self.restart_if, *self.reload_if]))

    @property
    def reload(self) -> str:
        """The command that reloads the unit."""
        return shlex.join(self.reload_command or ["systemctl", "reload", self.unit])


#: Function that decides which of the unread files a unit has to read, and whether by a restart.
Weigh = Callable[[UnitState, Mapping[str, Unread]], Weighed]


@operation
def running(
    unit: str,
    enabled: bool | None = True,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
) -> Commands:
    """Have a unit run with the current files, and start at boot (`enabled`; None: not changed).

    `restart_if` and `reload_if` are paths: the unit is restarted, or reloaded, only if one of them was changed,
    created or removed since the unit read it. `reload_command` replaces `systemctl reload`. A plan includes files
    that the same run will write.
    """
    yield from bring_up(named(unit, enabled, restart_if, reload_if, reload_command))


@operation
def reloaded(unit: str, reload_if: list[str]) -> Commands:
    """Have a unit that runs read these files by a reload. A unit that does not run is not started."""
    yield from bring_up(named(unit, None, reload_if=reload_if), start=False)


def named(
    unit: str,
    enabled: bool | None = True,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
) -> Wanted:
    """Return a unit by its name, with or without `.service`; Refused if the name or a path is not valid."""
    full = unit if "." in unit else f"{unit}.service"
    wanted = Wanted(full, enabled, restart_if or [], reload_if or [], reload_command or [])
    if not _UNIT.fullmatch(full) or any("\n" in path or "\\" in path for path in wanted.paths):
        raise Refused(f"{full!r}: not a valid unit name, or a path that cannot be watched")
    return wanted


def bring_up(
    wanted: Wanted, weigh: Weigh | None = None, keeping: Sequence[str] = (), *, start: bool = True
) -> Commands:
    """Do what `running` does, as part of another operation; without `start`, only if the unit runs.

    Without `weigh`, each file of `restart_if` needs a restart. `keeping` are lines of the script that run before the
    daemon reads its new files.
    """
    unit = wanted.unit
    state = look(Unit, f"the state of {unit} from systemd", unit=unit, paths=wanted.paths)
    if not start and state.active not in UP:
        this_host().noop(f"{unit} does not run")
        return
    unread = stale(state, {} if executing() else upcoming.announced(), wanted.reload_if)
    weighed = weigh(state, unread) if weigh else Weighed(unread, [path for path in unread if path in wanted.restart_if])
    act = "start" if state.active not in UP else "restart" if weighed.restarts else "reload" if weighed.unread else ""
    work = Work(Kind.SERVICE)
    _know(wanted, state, weighed, act, work)
    if act:
        work.lines += _script(wanted, state, weighed, act, keeping)
        named_by = {"start": (), "restart": weighed.restarts, "reload": weighed.unread}[act]
        work.differs(unit, *([_aspect(path, weighed.unread[path]) for path in named_by] or [_RUNS]), act=act)
        effect = f"{act} {unit.removesuffix('.service')}"
        if act == "reload" and wanted.reload_command:
            effect = wanted.reload_command[-1]
        diffs.costs(unit, dict.fromkeys([f"{act} {unit}", *weighed.unread], Effect(effect)))
    yield from work.carry_out(f"{unit}: runs as wanted", f"unit={shlex.quote(unit)}\n{_PRELUDE.strip()}")


def _know(wanted: Wanted, state: UnitState, weighed: Weighed, act: str, work: Work) -> None:
    """Add the lines that reload systemd's unit files, and enable or disable the unit."""
    enabled = wanted.enabled
    if state.need_daemon_reload:
        work.differs("daemon-reload", Aspect("read", "not read", note=f"the unit file of {wanted.unit} changed"))
    if enabled is not None and (state.enabled in _ENABLED) != enabled and state.enabled != "transient":
        verb = "enable" if enabled else "disable"
        # this also makes systemd reload all units
        work.lines.append(f'systemctl --quiet {verb} -- "$unit" || say "cannot be {verb}d"')
        work.differs(wanted.unit, _AT_BOOT if enabled else Aspect(_AT_BOOT.actual, _AT_BOOT.wanted), act=verb)
    elif (
        state.need_daemon_reload
        or (act == "start" and state.load == "not-found")
        # a unit file of another unit that this one starts: systemd only reports NeedDaemonReload for its own
        or (act in ("start", "restart") and any(path.startswith(f"{UNITS}/") for path in weighed.unread))
    ):
        work.lines.append("systemctl daemon-reload")


def _script(wanted: Wanted, state: UnitState, weighed: Weighed, act: str, keeping: Sequence[str]) -> Iterator[str]:
    reload = f'output=$({wanted.reload} 2>&1) || say "cannot be reloaded" "$output"'
    yield f"sums=$(look {shlex.join(wanted.paths)})"
    yield from keeping
    match act:
        case "start":
            # without this, a unit that failed too often does not start
            yield 'systemctl reset-failed -- "$unit" 2>/dev/null || :'
            # a start with older files may be in progress, and `start` would wait until it fails
            verb = "restart" if state.active == "activating" and weighed.unread else "start"
            yield f'systemctl {verb} -- "$unit" || down "does not start"'
        case "restart":
            if weighed.tell and wanted.reload_command:
                yield reload
            yield 'systemctl restart -- "$unit" || down "does not start again after its restart"'
        case "reload":
            yield reload
    if wanted.unit.endswith(".service"):
        yield "settle"
    if wanted.paths:
        yield "note"


@operation
def timer(path: str) -> Commands:
    """Have a timer run, given by the path of its unit file, and its service's file in the same folder loaded.

    The timer is restarted if its own file has changed; a running service is not interrupted.
    """
    service = f"{path.removesuffix('.timer')}.service"
    yield from bring_up(Wanted(path.rpartition("/")[2], True, [path], [service], ["systemctl", "daemon-reload"]))


@operation
def at_boot(units: list[str]) -> Commands:
    """Have units enabled, without starting them; a masked unit is refused, because an admin has masked it."""
    states = look(UnitFiles, f"from systemd whether {', '.join(units)} start at boot", units=units)
    if masked := [unit for unit in units if states.get(unit, "").startswith("masked")]:
        raise Refused(f"{', '.join(masked)}: masked; unless this is intended: systemctl unmask {shlex.join(masked)}")
    late = [unit for unit in units if states.get(unit) not in _ENABLED]
    work = Work(Kind.SERVICE)
    for unit in late:
        work.differs(unit, _AT_BOOT, act="enable")
        work.run("note_unit", unit)
    # in one command: each makes systemd reload all units
    work.run("systemctl", "--quiet", "enable", "--", *late)
    yield from work.carry_out(f"{', '.join(units)}: start at boot", KEEPING)


def stale(state: UnitState, coming: Mapping[str, str], reloads: Collection[str] = ()) -> dict[str, Unread]:
    """Return the watched files that the running unit has not read, each with the reason; `coming`: path -> sha256.

    `reloads` are the files that the unit reads on a reload, too.
    """
    reasons = {path: _why(state, path, coming.get(path), path in reloads) for path in state.files}
    return {path: why for path, why in reasons.items() if why}


def _aspect(path: str, why: Unread) -> Aspect:
    keys = f" ({why.keys})" if why.keys else ""
    note = f"{path}: {'will change' if why.coming else why.since}{keys}"
    return Aspect(f"runs with {path}", f"runs with an older {path}", note=note, follows=why.coming)


def _why(state: UnitState, path: str, coming: str | None, reloads: bool) -> Unread | None:
    now, noted = state.files[path], state.stamp_sums.get(path)
    will_change = coming is not None and coming != now.sha256
    # a new process of the same invocation has the settings of the unit's files from its start
    if noted is not None and (state.is_stamped or (path.startswith(UNITS) and state.is_same_invocation)):
        if noted != (coming if will_change else now.sha256):
            return Unread(coming=True) if will_change else Unread(since=f"changed since {_short(noted)}")
        # if this run restores a file that was changed by hand, the unit has already read the restored text
        if not reloads or not (will_change or now.written > state.stamped > 0):
            return None
        return Unread(will_change, "written again since the unit read it", between=True)
    if will_change:
        return Unread(coming=True)
    started = max(state.started, state.process_started) if reloads else state.started
    return Unread(since="written after the unit started") if now.written > started else None


def _short(sha256: str) -> str:
    return sha256[:12] if sha256 != upcoming.ABSENT else "it did not exist"
