"""Drain nodes that the inventory has out of service, and resume them when it has them in service again.

Their running jobs end as usual. Drains with other reasons are kept, except those of the health check, which would end
them when its checks pass.
"""

import shlex
from collections.abc import Mapping

from pyinfra.api.command import StringCommand

from gpupool.change import Aspect, Change, Kind
from gpupool.facts.drains import Drain, NodeDrains
from gpupool.operations import diffs, other_hosts
from gpupool.operations.ambient import executing, run_state, this_host
from gpupool.operations.frame import Commands, look, operation
from gpupool.slurm.nodes import HEALTH, OUT_OF_SERVICE

_IN_SERVICE = "in service"


@operation
def drained(reasons: Mapping[str, str]) -> Commands:
    """Drain these nodes, by their names in Slurm, each with its reason, on a controller.

    A node that slurmctld does not know is left out.
    """
    known = look(NodeDrains, "the nodes from slurmctld") if reasons else {}
    todo = {name: why for name, why in reasons.items() if name in known and _drains(known[name], why)}
    diffs.record([_change(name, OUT_OF_SERVICE, known[name], f"drained: {why}") for name, why in todo.items()])
    for name, why in todo.items():
        yield StringCommand(shlex.join(["scontrol", "update", f"nodename={name}", "state=drain", f"reason={why}"]))
    if not todo:
        this_host().noop("nodes out of service are drained")


@operation
def resumed(names: Mapping[str, str]) -> Commands:
    """Resume nodes that `drained` has drained, on a controller.

    `names` are the nodes in service: the host of each by its name in Slurm. A node stays drained if this run has left
    it out, or if it has failed in it: it may not match the inventory.
    """
    known = look(NodeDrains, "the nodes from slurmctld")
    back = [name for name in names if name in known and known[name].work == OUT_OF_SERVICE]
    ready = [name for name in back if _matches(names[name])]
    if waiting := [names[name] for name in back if name not in ready]:
        diffs.note(f"{', '.join(waiting)}: in service in the inventory, and drained until an apply to it succeeds")
    diffs.record([_change(name, _IN_SERVICE, known[name], "resumed") for name in ready])
    for name in ready:
        yield StringCommand(shlex.join(["scontrol", "update", f"nodename={name}", "state=resume"]))
    if not ready:
        this_host().noop("no node is back in service")


def _drains(now: Drain, why: str) -> bool:
    if not now.drained or now.work == HEALTH:
        return True
    return now.work == OUT_OF_SERVICE and now.reason != why


def _matches(host: str) -> bool:
    if not other_hosts.takes_part(host):
        return False
    return not executing() or other_hosts.named(host) not in run_state().failed_hosts


def _change(name: str, wanted: str, now: Drain, note: str) -> Change:
    actual = f"drained: {now.reason}" if now.drained else _IN_SERVICE
    return Change(Kind.STATE, f"node {name} in Slurm", (Aspect(wanted, actual, note=note),))
