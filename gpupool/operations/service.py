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
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpupool.change import Aspect, Kind
from gpupool.effect import Effect
from gpupool.facts.service import Unit, UnitFiles, UnitState
from gpupool.operations import diffs, upcoming
from gpupool.operations.ambient import executing
from gpupool.operations.frame import Commands, Refused, look, operation
from gpupool.operations.reading import KEEPING, weighed
from gpupool.operations.work import Work
from gpupool.shell import shell_file
from gpupool.slurm.keys.effects import NOTHING
from gpupool.unix import UNITS

_UNIT = re.compile(r"[A-Za-z0-9:_.@\\-]+\.(service|socket|timer|path|target|mount)")
_UP = ("active", "reloading", "refreshing")
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


@operation
def running(
    unit: str,
    enabled: bool | None = True,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
    slurm: str | None = None,
    own: str | None = None,
) -> Commands:
    """Have a unit run, start at boot (`enabled`; None: leave that alone), and with the files that stand on the node.

    `restart_if` and `reload_if` are paths: the unit is restarted, or reloaded, when one of them changed (came,
    went) since it started with them. `reload_command` replaces `systemctl reload`. A plan counts files that the
    same run will write. Nothing is restarted otherwise.

    `slurm`: the unit is a daemon of this version of Slurm. What a change of a file in `reload_if` takes goes by its
    keys (`slurm.keys.effects`), and a daemon that does not come up with its new files gets back those that it ran with.
    `own`: a file of its state that it may spoil where it cannot be reloaded; it gets that back with them.
    """
    yield from bring_up(unit, enabled, restart_if, reload_if, reload_command, slurm, own)


def bring_up(
    unit: str,
    enabled: bool | None = True,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
    slurm: str | None = None,
    own: str | None = None,
) -> Commands:
    """Do what `running` does, as part of another operation."""
    unit = unit if "." in unit else f"{unit}.service"
    restart_paths, reload_paths = restart_if or [], reload_if or []
    paths = list(dict.fromkeys([*restart_paths, *reload_paths]))
    if not _UNIT.fullmatch(unit) or any("\n" in path or "\\" in path for path in paths):
        raise Refused(f"{unit!r}: not a valid unit name, or a path that cannot be watched")
    state = look(Unit, f"the state of {unit} from systemd", unit=unit, paths=paths)
    changed = stale(state, {} if executing() else upcoming.announced())
    because = {path: why for path, why in changed.items() if path in restart_paths}
    costs: Mapping[str, tuple[str, str]] = {}
    if slurm and (read := [path for path in changed if path not in because]) and state.active in _UP:
        costs = weighed(state, unit, read, slurm)
        changed = {
            path: replace(why, keys=costs[path][1]) if path in costs else why
            for path, why in changed.items()
            if path in because or costs[path][0] != NOTHING
        }
        daemon = unit.partition(".")[0]
        because |= {path: changed[path] for path, (effect, _) in costs.items() if daemon in effect.split()}
    act = "start" if state.active not in _UP else "restart" if because else "reload" if changed else ""
    work = Work(Kind.SERVICE)
    if state.need_daemon_reload:
        work.differs("daemon-reload", Aspect("read", "not read", note=f"the unit file of {unit} changed"))
    if enabled is not None and (state.enabled in _ENABLED) != enabled and state.enabled != "transient":
        verb = "enable" if enabled else "disable"
        # it has systemd read all its units again
        work.lines.append(f'systemctl --quiet {verb} -- "$unit" || say "cannot be {verb}d"')
        work.differs(unit, _AT_BOOT if enabled else Aspect(_AT_BOOT.actual, _AT_BOOT.wanted), act=verb)
    elif (
        state.need_daemon_reload
        or (act == "start" and state.load == "not-found")
        # the file of another unit, which this one starts: systemd tells of its own only
        or (act in ("start", "restart") and any(path.startswith(f"{UNITS}/") for path in changed))
    ):
        work.lines.append("systemctl daemon-reload")
    if act:
        reload = shlex.join(reload_command or ["systemctl", "reload", unit])
        # a start that others began with other files would be waited for until it fails
        start = "restart" if state.active == "activating" and changed else "start"
        # nodes are told by the process that still runs; those that restart ask by themselves
        tell = act == "restart" and reload_command and any(path in costs for path in changed)
        told = tell and not any("slurmd" in effect.split() for effect, _ in costs.values())
        work.lines += [
            f"sums=$(look {shlex.join(paths)})",
            *([f"keep {shlex.join(paths)}", 'old=$(tail -n +2 "$stamps/$unit" 2>/dev/null || :)'] if slurm else []),
            *([f"keep {shlex.quote(own)}; own=$(look {shlex.quote(own)})"] if own else []),
            *([f'said=$({reload} 2>&1) || say "cannot be reloaded" "$said"'] if told else []),
            {
                # a unit that failed too often refuses to start before it is forgiven
                "start": 'systemctl reset-failed -- "$unit" 2>/dev/null || :\n'
                f'systemctl {start} -- "$unit" || down "does not start"',
                "restart": 'systemctl restart -- "$unit" || down "does not start again after its restart"',
                "reload": f'said=$({reload} 2>&1) || say "cannot be reloaded" "$said"',
            }[act],
            *(["settle"] if unit.endswith(".service") else []),
            *(["note"] if paths else []),
        ]
        reasons = changed if act == "reload" else because if act == "restart" else {}
        work.differs(unit, *([_unread(path, why) for path, why in reasons.items()] or [_RUNS]), act=act)
        word = reload_command[-1] if act == "reload" and reload_command else f"{act} {unit.removesuffix('.service')}"
        diffs.costs(unit, dict.fromkeys([f"{act} {unit}", *changed], Effect(word)))
    yield from work.carry_out(f"{unit}: runs as wanted", f"unit={shlex.quote(unit)}\n{_PRELUDE.strip()}")


@operation
def timer(path: str) -> Commands:
    """Have a timer run, by the path of its unit file, and systemd know the file of its service, which is beside it.

    The timer starts again when its own file has changed; what its service does is not interrupted.
    """
    yield from bring_up(
        path.rpartition("/")[2],
        restart_if=[path],
        reload_if=[f"{path.removesuffix('.timer')}.service"],
        reload_command=["systemctl", "daemon-reload"],
    )


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


@dataclass(frozen=True)
class Unread:
    """Why a unit has not read a file: this run will change it (`coming`), or it has changed `since` the unit did.

    `keys` are the names of the keys that differ, for people.
    """

    coming: bool = False
    since: str = ""
    keys: str = ""


def stale(state: UnitState, coming: Mapping[str, str]) -> dict[str, Unread]:
    """Return the watched files that the running unit has not read, each with the reason; `coming`: path -> sha256."""
    reasons = {path: _why(state, path, coming.get(path)) for path in state.files}
    return {path: why for path, why in reasons.items() if why}


def _unread(path: str, why: Unread) -> Aspect:
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
