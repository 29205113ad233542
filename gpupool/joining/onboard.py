"""Onboard machines as nodes: add them to Slurm, drain, deploy and accept them, edit the inventory, and resume them."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gpupool.errors import GpupoolError
from gpupool.joining import network as links
from gpupool.joining.other_nodes import later
from gpupool.joining.prepare import RESERVATION, WORK, Prepared
from gpupool.remote.controller import Controller
from gpupool.run.observer import Observer
from gpupool.run.runner import DeployRunner
from gpupool.slurm.nodes import reason
from gpupool.upkeep import drain, reserve
from gpupool.upkeep.accept import accept
from gpupool.upkeep.state import states

HEARD_SECONDS = 120.0  # maximum time from slurmd's start until it has registered with slurmctld
_STOP = "systemctl stop slurmd 2>/dev/null || true"
_LEAVE = "systemctl disable --quiet --now slurmd 2>/dev/null || true"


@dataclass(frozen=True)
class Onboarded:
    """The result: commands sent to each node, and in `later` the files that other nodes get with the next apply."""

    names: tuple[str, ...]
    commands: Mapping[str, int]
    later: Mapping[str, int]


class Onboarding:
    """One onboarding; `controller` reaches the nodes of `prepared.after`, and `runner` those of `prepared.before`."""

    def __init__(self, controller: Controller, runner: DeployRunner, observer: Observer, prepared: Prepared) -> None:
        self._controller, self._runner, self._observer, self._prepared = controller, runner, observer, prepared
        self._nodes = [prepared.after.cluster.nodes[name] for name in prepared.choices]
        self._names = ", ".join(prepared.choices)

    def run(self) -> Onboarded:
        """Add the machines to the cluster; GpupoolError with the reason if a machine is refused.

        Refused nodes are removed from Slurm again, and the inventory stays unchanged.
        """
        prepared = self._prepared
        self._make_room()
        try:
            self._join()
            self._accept()
        except GpupoolError as error:
            raise GpupoolError(f"{error}\n{self._take_back()}") from None
        prepared.draft.write()
        reserve.release(self._controller, RESERVATION)
        missing = later(prepared.before.cluster, prepared.after.cluster, {*prepared.others, *prepared.choices})
        return Onboarded(tuple(prepared.choices), prepared.commands.sent, missing)

    def _make_room(self) -> None:
        """Drain nodes that Slurm knows, and wait for their jobs; stop slurmd on other nodes, where it may run."""
        known = states(self._controller, self._nodes)
        in_slurm = [node for node in self._nodes if node.name in known]
        why = "another machine" if self._prepared.replace else "joins"
        moved = drain.drain(self._controller, in_slurm, WORK, why)
        if moved.kept:
            name, why = next(iter(moved.kept.items()))
            takeover = reason(WORK, "taken over")
            raise GpupoolError(
                f"{name} is drained by others: {why}: nothing was changed (to continue all the same, take over the "
                f"drain: scontrol update nodename={name} state=drain reason='{takeover}')"
            )
        if in_slurm:
            drain.wait_until_empty(self._controller, in_slurm, self._observer)
        for node in self._nodes:
            if node.name not in known:
                self._controller.output_on(node.name, "sh", "-c", _STOP)

    def _join(self) -> None:
        """Add the nodes to Slurm first: each is drained before its slurmd ever runs, so that no job can start there."""
        runner, others = self._runner.to(self._prepared.after), self._prepared.others
        self._apply(runner, others)
        drain.drain(self._controller, self._nodes, WORK, "joins")
        reserve.reserve(self._controller, RESERVATION, self._nodes)
        first = runner.target.cluster.controllers[0]
        self._apply(runner, [*(node.name for node in self._nodes), first.name])
        end = time.monotonic() + HEARD_SECONDS
        while time.monotonic() < end and not self._all_answer():
            time.sleep(1)

    def _all_answer(self) -> bool:
        return all(state.answers for state in states(self._controller, self._nodes).values())

    def _apply(self, runner: DeployRunner, names: Sequence[str]) -> None:
        self._prepared.commands.count(runner.apply(names)).ensure_ok()

    def _accept(self) -> None:
        least = self._prepared.network
        if least is not None and (slow := list(links.slow(self._controller, self._nodes, least))):
            raise GpupoolError("\n".join(slow))
        results = accept(self._controller, self._nodes, WORK, RESERVATION, self._observer)
        if wrong := [f"{name}: {why}" for name, result in results.items() for why in result.problems]:
            raise GpupoolError("\n".join(wrong))

    def _take_back(self) -> str:
        """Remove refused nodes from Slurm again; return a text on the remaining state, for the message."""
        names = self._names
        try:
            known = states(self._controller, self._nodes)
            in_slurm = [node for node in self._nodes if node.name in known]
            drain.drain(self._controller, in_slurm, WORK, "refused")
            reserve.release(self._controller, RESERVATION)
            if self._prepared.replace:
                return f"{names}: drained, and stays out of service; the inventory was not changed"
            for node in self._nodes:
                with suppress(GpupoolError):  # a node that cannot be reached is removed from Slurm anyway
                    self._controller.output_on(node.name, "sh", "-c", _LEAVE)
            self._apply(self._runner, self._prepared.others)
        except GpupoolError as error:
            message = f"cannot be removed from Slurm again: {error} (run `gpupool apply`); the inventory is unchanged"
            return f"{names}: {message}"
        return f"{names}: not in Slurm, and the inventory is unchanged"
