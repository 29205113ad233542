"""Rolling maintenance: nodes are drained, changed, rebooted, accepted and resumed, a few at a time.

Slurm keeps all state: a node that is drained with our reason or is in our reservation is in progress. After a run is
killed, the next run continues it, from any machine that has the inventory.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpupool.cluster.node import Node
from gpupool.reasons import Code
from gpupool.remote.controller import Controller, NoAnswerError, RefusedError
from gpupool.run.observer import Observer
from gpupool.run.runner import DeployRunner
from gpupool.slurm.nodes import NodeState
from gpupool.upkeep import drain, reserve
from gpupool.upkeep.accept import accept
from gpupool.upkeep.announce import announce
from gpupool.upkeep.choice import RESERVATION, WORK, Phase, Progress, out_of_service
from gpupool.upkeep.hold import Hold
from gpupool.upkeep.packages import raise_packages
from gpupool.upkeep.prepare import Prepared
from gpupool.upkeep.reboot import boots, reboot
from gpupool.upkeep.state import by_node, jobs, states
from gpupool.upkeep.waves import Bounds, MaintenanceOptions, next_nodes, too_much
from gpupool.wording import counted

BOOT_SECONDS = 2400.0  # for a reboot: a server checks its memory before it boots
SILENT_SECONDS = 600.0  # without an answer from any controller, before the run ends
_SKEW = 2  # seconds by which two readings of the same boot time may differ


class Maintenance:
    """One run of maintenance; callers read its progress in `prepared.progress`."""

    def __init__(
        self,
        controller: Controller,
        runner: DeployRunner,
        hold: Hold,
        observer: Observer,
        prepared: Prepared,
        options: MaintenanceOptions,
    ) -> None:
        self._controller, self._runner, self._hold, self._observer = controller, runner, hold, observer
        self._prepared, self._options = prepared, options
        self._progress, self._shares = prepared.progress, prepared.shares
        self._proven = False  # whether the canary, the first node, has passed

    def run(self) -> None:
        """Run the maintenance, with a message of the day on the heads until it has ended.

        After KeyboardInterrupt or GpupoolError, nodes in progress stay drained and reserved; the next run continues.
        """
        self._announce(message(self._prepared, self._options))
        self._work()
        self._announce("")

    def _announce(self, text: str) -> None:
        for name, why in announce(self._controller, text).items():
            self._observer.warning(name, f"cannot change the message of the day: {why}")

    def _work(self) -> None:
        known, heard = self._look(), time.monotonic()
        for name in self._prepared.started:
            if self._progress[name].phase == "waiting":
                self._begin(name, known.get(name))
        # a node that failed in an earlier run is drained, but must be reserved again
        self._reserve()
        while True:
            self._hold.ensure()
            try:
                known = self._look()
                self._begin_next(known)
                if not self._in("draining", "rebooting"):
                    break
                self._step()
                self._reserve()
                heard = time.monotonic()
            except NoAnswerError as error:
                # another controller may take over, and every step can be repeated
                if time.monotonic() - heard >= SILENT_SECONDS:
                    raise
                self._observer.step("controller", str(error))
                self._pause()
                continue
            if self._in("draining", "rebooting"):
                self._pause()
        for progress in self._in("waiting"):
            self._end(progress, "not begun", self._why_not(known))
        reserve.release(self._controller, RESERVATION)

    def _pause(self) -> None:
        away = [progress.node.name for progress in self._in("draining", "rebooting")]
        with self._observer.waiting(away, len(self._in("done")), len(self._progress)):
            time.sleep(drain.LOOK_SECONDS)

    # The choice of nodes

    def _look(self) -> Mapping[str, NodeState]:
        return states(self._controller, self._controller.target.cluster.having("compute"))

    def _in(self, *phases: Phase) -> list[Progress]:
        return [progress for progress in self._progress.values() if progress.phase in phases]

    def _ours(self) -> set[str]:
        return {progress.node.name for progress in self._in("draining", "rebooting", "failed")}

    def _out(self, known: Mapping[str, NodeState]) -> set[str]:
        """Return the nodes that are out of service for another reason than this maintenance."""
        # a node that is done stays in the reservation until the next node begins
        done = {progress.node.name for progress in self._in("done")}
        seen = {
            name: replace(state, flags=state.flags - {"MAINTENANCE"}) if name in done else state
            for name, state in known.items()
        }
        return out_of_service(self._controller, seen) - self._ours()

    def _next(self, known: Mapping[str, NodeState]) -> tuple[str, ...]:
        bounds = self._options.bounds
        if not self._proven:
            if self._in("failed"):
                return ()
            bounds = Bounds(1, bounds.per_lab)  # the canary is alone
        waiting = [progress.node.name for progress in self._in("waiting")]
        return next_nodes(waiting, self._ours(), self._out(known), bounds, self._shares)

    def _begin_next(self, known: Mapping[str, NodeState]) -> None:
        for name in (names := self._next(known)):
            self._progress[name].phase = "draining"
        if names:
            # reserve before the drain, so that each drained node is in the reservation
            self._reserve()
        for name in names:
            self._begin(name, known.get(name))

    def _begin(self, name: str, state: NodeState | None) -> None:
        progress = self._progress[name]
        progress.since = time.monotonic()
        if state is None:
            self._end(progress, "left alone", "slurmctld no longer knows it")
            return
        if {"REBOOT_ISSUED", "REBOOT_REQUESTED"} & state.flags or not state.answers:
            progress.phase = "rebooting"
            self._observer.step(name, "waiting for its reboot")
            return
        progress.phase = "draining"
        moved = drain.drain(self._controller, [progress.node], WORK, progress.why or "continues")
        if name in moved.kept:
            self._end(progress, "left alone", f"drained by others: {moved.kept[name]}")

    def _reserve(self) -> None:
        nodes = [progress.node for progress in self._in("draining", "rebooting")]
        if nodes:
            reserve.reserve(self._controller, RESERVATION, nodes)

    def _why_not(self, known: Mapping[str, NodeState]) -> str:
        if failed := self._in("failed"):
            if not self._proven:
                return f"{failed[0].node.name}, the first one, failed"
            return f"{', '.join(progress.node.name for progress in failed)} failed: no more nodes may be out of service"
        lost = too_much(self._options.bounds, self._shares, self._out(known))
        return (
            f"labs already lack as much as --per-lab allows: {', '.join(lost)}"
            if lost
            else "a lab would lack more than --per-lab allows"
        )

    # Work on the nodes in progress

    def _step(self) -> None:
        self._ensure_ours()
        self._change(self._empty())
        self._accept(self._back())

    def _ensure_ours(self) -> None:
        """Stop the work on a node that an admin has drained or resumed meanwhile."""
        current = states(self._controller, [progress.node for progress in self._in("draining")])
        for progress in self._in("draining"):
            state = current.get(progress.node.name)
            if state is None or not state.is_ours(WORK):
                why = f"drained by others: {state.reason}" if state and state.drained else "resumed by others"
                self._end(progress, "left alone", why)

    def _empty(self) -> list[Progress]:
        """Return the drained nodes without jobs; resume a node whose jobs take longer than `patience`."""
        waiting = self._in("draining")
        left = by_node(
            jobs(self._controller, [progress.node for progress in waiting]), [progress.node for progress in waiting]
        )
        for progress in waiting:
            if remaining := left[progress.node.name]:
                self._observer.step(progress.node.name, f"waiting for {drain.jobs_in_brief(remaining)}")
                patience = self._options.patience
                if patience is not None and time.monotonic() - progress.since >= patience:
                    drain.resume(self._controller, [progress.node], WORK)
                    self._end(progress, "not begun", f"its jobs did not end in time: {drain.jobs_in_brief(remaining)}")
        return [progress for progress in waiting if not left[progress.node.name]]

    def _change(self, ready: list[Progress]) -> None:
        """Change empty nodes (packages, inventory), then reboot the nodes that need it, and accept the others."""
        if not ready:
            return
        self._raise(ready)
        ready = [progress for progress in ready if progress.phase == "draining"]
        wants = self._applied(ready, may_reboot=True) if ready else {}
        fine = [progress for progress in ready if progress.phase == "draining"]
        last = boots(self._controller, [progress.node for progress in fine])
        for progress in fine:
            boot = last[progress.node.name]
            if boot is None:
                self._fail(progress, "it does not answer after its change")
                continue
            why = wants.get(progress.node.name) or boot.needs
            if why or (self._options.reboot and boot.at <= self._prepared.since):
                progress.phase, progress.booted, progress.since = "rebooting", boot.at, time.monotonic()
                self._observer.step(
                    progress.node.name, f"rebooting{f': {why}' if why else ''}{self._hint(progress.node)}"
                )
                self._reboot(progress)
        self._accept([progress for progress in fine if progress.phase == "draining"])

    def _raise(self, ready: list[Progress]) -> None:
        """Raise the packages of the system, if the options ask for it; a node where apt fails has failed."""
        if not self._options.packages:
            return
        for progress in ready:
            self._observer.step(progress.node.name, "raising packages")
        found = raise_packages(self._controller, [progress.node for progress in ready], self._options.packages)
        for progress in ready:
            newer = found[progress.node.name]
            progress.changes += [package.change for package in newer.raised]
            if newer.error:
                self._fail(progress, newer.error)

    def _hint(self, node: Node) -> str:
        """Return what the admin has to do for the reboot of a container, which only stops."""
        target = self._controller.target
        if target.testbed is None or not target.cluster.drivers.contained(node.name):
            return ""
        return f" (a container stays off until `docker start {target.testbed.id}-{node.name}`)"

    def _reboot(self, progress: Progress) -> None:
        try:
            reboot(self._controller, progress.node, WORK)
        except RefusedError as error:
            self._fail(progress, f"it cannot be rebooted: {error}")

    def _applied(self, nodes: Sequence[Progress], *, may_reboot: bool) -> dict[str, str]:
        """Apply the inventory; return the nodes that need a reboot to finish, with the reason.

        Nodes with another failure end as `failed`.
        """
        for progress in nodes:
            self._observer.step(progress.node.name, "applying the inventory")
        report = self._runner.apply([progress.node.name for progress in nodes])
        report.ensure_not_interrupted()
        wants = {}
        for progress in nodes:
            host = report.hosts.get(progress.node.name)
            progress.changes += [change.operation for change in host.changes] if host else []
            why = report.failures.get(progress.node.name) if host else "it was skipped: it is off"
            if why and may_reboot and host and host.reason and host.reason.code is Code.NEEDS_REBOOT:
                wants[progress.node.name] = why
            elif why:
                self._fail(progress, why)
        return wants

    def _back(self) -> list[Progress]:
        """Return the rebooted nodes after an apply; a node that does not return within BOOT_SECONDS has failed."""
        away = self._in("rebooting")
        if not away:
            return []
        known, last = (
            states(self._controller, [progress.node for progress in away]),
            boots(self._controller, [progress.node for progress in away]),
        )
        back = []
        for progress in away:
            boot, state = last[progress.node.name], known.get(progress.node.name)
            pending = {"REBOOT_ISSUED", "REBOOT_REQUESTED", "DOWN"}
            if boot and boot.at > progress.booted + _SKEW and state and state.answers and not pending & state.flags:
                back.append(progress)
            elif time.monotonic() - progress.since >= BOOT_SECONDS:
                self._fail(progress, f"it did not come back from its reboot in {BOOT_SECONDS / 60:.0f} minutes")
        if back:
            self._applied(back, may_reboot=False)
        return [progress for progress in back if progress.phase == "rebooting"]

    def _accept(self, nodes: list[Progress]) -> None:
        if not nodes:
            return
        results = accept(self._controller, [progress.node for progress in nodes], WORK, RESERVATION, self._observer)
        for progress in nodes:
            if problems := results[progress.node.name].problems:
                self._fail(progress, "; ".join(problems))
            else:
                self._proven = True
                self._end(progress, "done", "")

    def _fail(self, progress: Progress, why: str) -> None:
        """Leave the node drained with the reason of its failure."""
        drain.drain(self._controller, [progress.node], WORK, f"failed: {why}")
        self._end(progress, "failed", why)

    def _end(self, progress: Progress, phase: Phase, why: str) -> None:
        progress.phase, progress.why = phase, why
        self._observer.ended(progress.node.name, phase, why)


def message(prepared: Prepared, options: MaintenanceOptions) -> str:
    """Return the message of the day: the begin, the nodes, and the effect on jobs."""
    names = ", ".join(name for name, progress in prepared.progress.items() if progress.phase == "waiting")
    return (
        f"Maintenance since {time.strftime('%Y-%m-%d %H:%M', time.localtime(prepared.since))}: {names}.\n"
        f"{counted(options.bounds.at_most, 'node')} at a time, without new jobs; running jobs are not ended. "
        "`sinfo -R` lists them."
    )
