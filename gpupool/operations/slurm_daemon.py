"""Daemons of Slurm as systemd units: changed keys decide on a restart, and a failed start restores the former files."""

import posixpath
import shlex
from collections.abc import Mapping
from dataclasses import replace

from gpupool.facts.service import UnitState
from gpupool.operations.frame import Commands, operation
from gpupool.operations.reading import weighed
from gpupool.operations.service import UP, Unread, Wanted, Weighed, bring_up, named
from gpupool.slurm.keys.effects import NOTHING, reader
from gpupool.slurm.releases import has

_KEPT = 'old=$(tail -n +2 "$stamps/$unit" 2>/dev/null || :)'


@operation
def running(
    unit: str,
    version: str,
    restart_if: list[str] | None = None,
    reload_if: list[str] | None = None,
    reload_command: list[str] | None = None,
    state_file: str | None = None,
    ours: bool = True,
) -> Commands:
    """Have a daemon of a version of Slurm run, as `service.running` does.

    Whether a changed file in `reload_if` needs a restart depends on its keys (`slurm.keys.effects`). If a daemon does
    not start with its new files, the former ones are restored, and also `state_file`, a file of its state that it may
    change during a failed reload. With `ours` False the site starts the daemon: it is neither started nor enabled.
    """
    wanted = named(unit, True if ours else None, restart_if, reload_if, reload_command)

    def weigh(state: UnitState, unread: Mapping[str, Unread]) -> Weighed:
        return _weigh(wanted, version, state, unread)

    keeping = [f"keep {shlex.join(wanted.paths)}", _KEPT]
    if state_file:
        keeping.append(f"keep {shlex.quote(state_file)}; own=$(look {shlex.quote(state_file)})")
    yield from bring_up(wanted, weigh, keeping, start=ours)


def _weigh(wanted: Wanted, version: str, state: UnitState, unread: Mapping[str, Unread]) -> Weighed:
    if _replaces_process(wanted.unit, version):
        # a reload in between would have replaced the process, and the stamp would be invalid
        unread = {path: why for path, why in unread.items() if not why.between}
    restarts = [path for path in unread if path in wanted.restart_if]
    read = [path for path in unread if path not in restarts]
    if not read or state.active not in UP:
        return Weighed(unread, restarts)
    effects = dict(weighed(state, wanted.unit, [path for path in read if not unread[path].between], version))
    effects |= {path: (reader(posixpath.basename(path)), "") for path in read if unread[path].between}
    needed = {
        path: replace(why, keys=effects[path][1]) if path in effects else why
        for path, why in unread.items()
        if path not in effects or effects[path][0] != NOTHING
    }
    daemons = {path: effect.split() for path, (effect, _) in effects.items()}
    name = wanted.unit.partition(".")[0]
    restarts += [path for path, restarted in daemons.items() if name in restarted]
    # the running slurmctld informs the nodes before its restart; a restarted slurmd asks for the files
    tell = any(path in effects for path in needed) and not any("slurmd" in restarted for restarted in daemons.values())
    return Weighed(needed, restarts, tell)


def _replaces_process(unit: str, version: str) -> bool:
    return unit.partition(".")[0] in ("slurmctld", "slurmd") and has(version, "a process for each reconfigure")
