"""Machines become nodes: known to Slurm and drained, deployed, accepted, written down, and given to users' jobs."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpupool.cluster.model import Node
from gpupool.errors import GpupoolError
from gpupool.joining import network as links
from gpupool.joining.prepare import RESERVATION, WORK, Prepared
from gpupool.joining.reach import concerned, later
from gpupool.joining.steps import Commands
from gpupool.remote.controller import Controller, reach
from gpupool.run.door import Door
from gpupool.run.observer import Observer
from gpupool.target import Target, find_target
from gpupool.upkeep import drain, reserve
from gpupool.upkeep.accept import accept
from gpupool.upkeep.state import states

_HEARD_SECONDS = 120.0  # from slurmd's start until slurmctld has heard of it
_STOP = "systemctl stop slurmd 2>/dev/null || true"
_LEAVE = "systemctl disable --quiet --now slurmd 2>/dev/null || true"


@dataclass(frozen=True)
class Onboarded:
    """What was done: commands sent to each node, and files in which others differ until the next apply, with counts."""

    names: tuple[str, ...]
    commands: Mapping[str, int]
    later: Mapping[str, int]


def touched(prepared: Prepared, on: str) -> tuple[Target, tuple[str, ...]]:
    """Return the target with the new nodes in it, and which others hear of them. BadInventoryError as it comes."""
    after = find_target(prepared.draft.inventory, on, instead=prepared.draft.changed)
    if missing := [name for name in prepared.choices if name not in {node.name for node in after.nodes}]:
        raise GpupoolError(f"{', '.join(missing)}: testbed.nodes does not select it (correct the inventory)")
    return after, concerned(prepared.target.cluster, after.cluster)


def onboard(prepared: Prepared, after: Target, others: Sequence[str], observer: Observer) -> Onboarded:
    """Carry it out; what fails is taken out of Slurm again, and the inventory is as it was. GpupoolError says why."""
    nodes = [after.cluster.nodes[name] for name in prepared.choices]
    commands = prepared.commands
    with reach(after) as controller:
        _make_room(controller, nodes, prepared, observer)
        try:
            _join(controller, prepared.door.to(after), nodes, others, commands)
            _accept(controller, nodes, prepared.network, observer)
        except GpupoolError as error:
            raise GpupoolError(f"{error}\n{_undone(controller, prepared, nodes, others)}") from None
        prepared.draft.write()
        reserve.release(controller, RESERVATION)
    done = {*others, *prepared.choices}
    return Onboarded(
        tuple(prepared.choices),
        commands.sent,
        later(prepared.target.cluster, after.cluster, done),
    )


def _make_room(controller: Controller, nodes: Sequence[Node], prepared: Prepared, observer: Observer) -> None:
    """Have no user's job on the nodes, and none that could begin: not on a machine that ran slurmd before, either."""
    known = states(controller, nodes)
    in_slurm = [node for node in nodes if node.name in known]
    moved = drain.drain(controller, in_slurm, WORK, "another machine" if prepared.replace else "joins")
    if moved.kept:
        name, why = next(iter(moved.kept.items()))
        own = drain.reason(WORK, "taken over")
        raise GpupoolError(
            f"{name} is drained by others: {why}: nothing was changed (to continue all the same, take over the drain: "
            f"scontrol update nodename={name} state=drain reason='{own}')"
        )
    if in_slurm:
        drain.wait_until_empty(controller, in_slurm, observer)
    for node in nodes:
        if node.name not in known:
            controller.on(node.name, "sh", "-c", _STOP)


def _join(controller: Controller, door: Door, nodes: Sequence[Node], others: Sequence[str], commands: Commands) -> None:
    """Slurm first: a node is drained before its slurmd has ever run, so that no job can slip in."""
    commands.count(door.apply(others)).ensure_ok()
    drain.drain(controller, nodes, WORK, "joins")
    reserve.reserve(controller, RESERVATION, nodes)
    names = [*(node.name for node in nodes), door.target.cluster.controllers[0].name]
    commands.count(door.apply(names)).ensure_ok()
    end = time.monotonic() + _HEARD_SECONDS
    while time.monotonic() < end and not all(it.answers for it in states(controller, nodes).values()):
        time.sleep(1)


def _accept(controller: Controller, nodes: Sequence[Node], network: int | None, observer: Observer) -> None:
    if network is not None and (slow := list(links.slow(controller, nodes, network))):
        raise GpupoolError("\n".join(slow))
    results = accept(controller, nodes, WORK, RESERVATION, observer)
    if wrong := [f"{name}: {why}" for name, it in results.items() for why in it.problems]:
        raise GpupoolError("\n".join(wrong))


def _undone(controller: Controller, prepared: Prepared, nodes: Sequence[Node], others: Sequence[str]) -> str:
    """Take what was refused out of Slurm again, and return in words what that leaves."""
    names = ", ".join(node.name for node in nodes)
    try:
        known = states(controller, nodes)
        drain.drain(controller, [node for node in nodes if node.name in known], WORK, "refused")
        reserve.release(controller, RESERVATION)
        if prepared.replace:
            return f"{names}: drained, and stays out of service; the inventory was not changed"
        for node in nodes:
            with suppress(GpupoolError):  # it may be lost by now, and is out of Slurm all the same
                controller.on(node.name, "sh", "-c", _LEAVE)
        prepared.commands.count(prepared.door.apply(others)).ensure_ok()
    except GpupoolError as error:
        return f"{names}: cannot be removed from Slurm again: {error} (run `gpupool apply`); the inventory is unchanged"
    return f"{names}: not in Slurm, and the inventory is unchanged"
