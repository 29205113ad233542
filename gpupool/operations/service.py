"""systemd units: running, enabled, and restarted only when a file they read has changed since they started.

How a restart survives a run that is killed between replacing a file and restarting the daemon: the rule does not
ask what this run did, it asks whether the unit runs with the files that stand on the node. Two witnesses:

- a stamp, `/var/lib/gpupool/units/UNIT`: the unit's InvocationID and the sha256 of each watched file, taken before
  our last start, restart or reload and written only after that succeeded. As long as the unit is still that
  invocation, the stamp alone decides; clocks do not matter, nor does a file that was written anew with the same text.
- where the stamp says nothing (a unit that somebody else, or a reboot, started), the file's mtime against the moment
  the unit began to start. A node that was in order before gpupool came is left alone, without a stamp.

Times alone would restart for a rewritten file of the same text and fail when a clock was stepped; the stamp alone
would restart every daemon that an admin had restarted already. A reload (`scontrol reconfigure` too) keeps the
InvocationID, so the same rule serves it.
"""

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupool.change import Aspect, Kind
from gpupool.effect import Effect
from gpupool.facts.service import Unit, UnitFiles, UnitState
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import executing
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.reading import KEEPING
from gpupool.operations.work import Work
from gpupool.shell import shell_file
from gpupool.unix import UNITS

_UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]+\.(service|socket|timer|path|target|mount)")
#: What systemd calls a unit that runs.
UP = ("active", "reloading", "refreshing")
_ENABLED = ("enabled", "enabled-runtime", "static", "alias", "indirect", "generated", "linked")

_PRELUDE = KEEPING + shell_file(__package__, "service.sh")

_AT_BOOT = Aspect("starts at boot", "does not start at boot")
_RUNS = Aspect("runs", "stopped")


#: Has settings of slices and of logind hold at once. systemd reads those of a slice that runs, but gives them to the
#: kernel only when the next unit of `user.slice` starts; logind reads its own file when it gets this signal.
READ_SHARES = [
    *("sh", "-c"),
    "systemctl daemon-reload && systemctl kill --signal=HUP systemd-logind && "
    "systemd-run --quiet --scope --slice=user.slice true",
]


@dataclass(frozen=True)
class Unread:
    """Why a unit has not read a file: this run will change it (`coming`), or it has changed `since` the unit did.

    `keys` are the names of the keys that differ, for people.
    """

    coming: bool = False
    since: str = ""
    keys: str = ""


@dataclass(frozen=True)
class Weighed:
    """The files that a unit has to read, and which of them need a restart; `tell`: it is reloaded before that."""

    unread: Mapping[str, Unread]
    restarts: Collection[str]
    tell: bool = False


@dataclass(frozen=True)
class Wanted:
    """A unit as it shall run: `restart_if` and `reload_if` are paths, `enabled` None leaves its start at boot alone.

    `reload_command` replaces `systemctl reload`.
    """

    unit: str
    enabled: bool | None = True
    restart_if: Sequence[str] = ()
    reload_if: Sequence[str] = ()
    reload_command: Sequence[str] = ()

    @property
    def paths(self) -> list[str]:
        """The files that it reads."""
        return list(dict.fromkeys([*self.restart_if, *self.reload_if]))

    @property
    def reload(self) -> str:
        """The command that has it read its files again."""
        return shlex.join(self.reload_command or ["systemctl", "reload", self.unit])


#: Weighs the files that a unit has not read: which it has to read, and how.
Weigh = Callable[[UnitState, Mapping[str, Unread]], Weighed]


@operation
def running(
    unit: str,
    enabled: bool | None = True,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
) -> Commands:
    """Have a unit run, start at boot (`enabled`; None: leave that alone), and with the files that stand on the node.

    `restart_if` and `reload_if` are paths: the unit is restarted, or reloaded, when one of them changed (came,
    went) since it started with them. `reload_command` replaces `systemctl reload`. A plan counts files that the
    same run will write. Nothing is restarted otherwise.
    """
    yield from bring_up(named(unit, enabled, restart_if, reload_if, reload_command))


def named(
    unit: str,
    enabled: bool | None = True,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
) -> Wanted:
    """Return a unit by its name, with or without `.service`; Refused if it cannot be one, or a path is no path."""
    full = unit if "." in unit else f"{unit}.service"
    wanted = Wanted(full, enabled, restart_if or [], reload_if or [], reload_command or [])
    if not _UNIT.fullmatch(full) or any("\n" in path or "\\" in path for path in wanted.paths):
        raise Refused(f"{full!r}: not a valid unit name, or a path that cannot be watched")
    return wanted


def bring_up(wanted: Wanted, weigh: Weigh | None = None, keeping: Sequence[str] = ()) -> Commands:
    """Do what `running` does, as part of another operation.

    Without `weigh` each file of `restart_if` needs a restart. `keeping` are lines of the script before a daemon reads
    its new files.
    """
    unit = wanted.unit
    state = look(Unit, f"the state of {unit} from systemd", unit=unit, paths=wanted.paths)
    unread = stale(state, {} if executing() else upcoming.announced())
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
    """Have systemd know the unit's files, and start it at boot or not."""
    enabled = wanted.enabled
    if state.need_daemon_reload:
        work.differs("daemon-reload", Aspect("read", "not read", note=f"the unit file of {wanted.unit} changed"))
    if enabled is not None and (state.enabled in _ENABLED) != enabled and state.enabled != "transient":
        verb = "enable" if enabled else "disable"
        # it has systemd read all its units again
        work.lines.append(f'systemctl --quiet {verb} -- "$unit" || say "cannot be {verb}d"')
        work.differs(wanted.unit, _AT_BOOT if enabled else Aspect(_AT_BOOT.actual, _AT_BOOT.wanted), act=verb)
    elif (
        state.need_daemon_reload
        or (act == "start" and state.load == "not-found")
        # the file of another unit, which this one starts: systemd tells of its own only
        or (act in ("start", "restart") and any(path.startswith(f"{UNITS}/") for path in weighed.unread))
    ):
        work.lines.append("systemctl daemon-reload")


def _script(wanted: Wanted, state: UnitState, weighed: Weighed, act: str, keeping: Sequence[str]) -> Iterator[str]:
    reload = f'said=$({wanted.reload} 2>&1) || say "cannot be reloaded" "$said"'
    yield f"sums=$(look {shlex.join(wanted.paths)})"
    yield from keeping
    match act:
        case "start":
            # a unit that failed too often refuses to start before it is forgiven
            yield 'systemctl reset-failed -- "$unit" 2>/dev/null || :'
            # a start that others began with other files would be waited for until it fails
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
    """Have a timer run, by the path of its unit file, and systemd know the file of its service, which is beside it.

    The timer starts again when its own file has changed; what its service does is not interrupted.
    """
    service = f"{path.removesuffix('.timer')}.service"
    yield from bring_up(Wanted(path.rpartition("/")[2], True, [path], [service], ["systemctl", "daemon-reload"]))


@operation
def at_boot(units: list[str]) -> Commands:
    """Have units start at boot, without starting them now; what is masked is an admin's decision, and refused."""
    states = look(UnitFiles, f"from systemd whether {', '.join(units)} start at boot", units=units)
    if masked := [unit for unit in units if states.get(unit, "").startswith("masked")]:
        raise Refused(f"{', '.join(masked)}: masked; unless this is intended: systemctl unmask {shlex.join(masked)}")
    late = [unit for unit in units if states.get(unit) not in _ENABLED]
    work = Work(Kind.SERVICE)
    for unit in late:
        work.differs(unit, _AT_BOOT, act="enable")
    # in one command: each makes systemd read all its units again
    work.run("systemctl", "--quiet", "enable", "--", *late)
    yield from work.carry_out(f"{', '.join(units)}: start at boot")


def stale(state: UnitState, coming: Mapping[str, str]) -> dict[str, Unread]:
    """Return the watched files that the running unit has not read, each with the reason; `coming`: path -> sha256."""
    reasons = {path: _why(state, path, coming.get(path)) for path in state.files}
    return {path: why for path, why in reasons.items() if why}


def _aspect(path: str, why: Unread) -> Aspect:
    keys = f" ({why.keys})" if why.keys else ""
    note = f"{path}: {'will change' if why.coming else why.since}{keys}"
    return Aspect(f"runs with {path}", f"runs with an older {path}", note=note, follows=why.coming)


def _why(state: UnitState, path: str, coming: str | None) -> Unread | None:
    now, noted = state.files[path], state.stamp_sums.get(path)
    will_change = coming is not None and coming != now.sha256
    if noted is not None and state.stamp_invocation == state.invocation:
        # what somebody changed by hand since, and this run puts back, the unit has never read
        if noted == (coming if will_change else now.sha256):
            return None
        return Unread(coming=True) if will_change else Unread(since=f"changed since {_short(noted)}")
    if will_change:
        return Unread(coming=True)
    return Unread(since="written after the unit started") if now.written > state.started else None


def _short(sha256: str) -> str:
    return sha256[:12] if sha256 != upcoming.ABSENT else "it did not exist"
