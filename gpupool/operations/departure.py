"""Disable the daemons and remove the shared secrets of a node that leaves the cluster."""

import shlex

from pyinfra.api.command import StringCommand

from gpupool.change import ABSENT, PRESENT, Aspect, Change, Kind
from gpupool.facts.files import Paths
from gpupool.facts.service import UnitFiles
from gpupool.operations import diffs
from gpupool.operations.ambient import this_host
from gpupool.operations.frame import Commands, look, operation

_OFF = ("disabled", "masked")


@operation
def daemons(units: list[str], secrets: list[str]) -> Commands:
    """Stop and disable units, and remove the files of secrets."""
    states = look(UnitFiles, f"from systemd whether {', '.join(units)} start at boot", units=units)
    present = look(Paths, "the secrets", paths=secrets, shown={})
    on = [unit for unit in units if states.get(unit, "masked") not in _OFF]
    known = [path for path in secrets if path in present]
    if not on and not known:
        this_host().noop("no daemon of the cluster starts here")
        return
    stops = (Aspect("stopped", "starts at boot", note="will be stopped"),)
    goes = (Aspect(ABSENT, PRESENT, note="will be removed"),)
    diffs.record([
        *(Change(Kind.SERVICE, unit, stops) for unit in on),
        *(Change(Kind.FILE, path, goes) for path in known),
    ])  # fmt: skip
    lines = [shlex.join(["systemctl", "disable", "--quiet", "--now", "--", *on])] if on else []
    lines += [shlex.join(["rm", "-f", "--", *known])] if known else []
    yield StringCommand(" && ".join(lines))
