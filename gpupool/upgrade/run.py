"""The whole upgrade, stage by stage. The packages and daemons of a node show which stage it has reached.

After a run is killed, the next run continues it, from any machine that has the inventory. Slurm keeps the drains of
compute nodes; the database's node keeps the files for a rollback until the upgrade has ended.
"""

import time
from collections.abc import Collection, Sequence
from functools import partial

from gpupool.cluster.node import Node
from gpupool.compile.system.backup import COMMAND
from gpupool.errors import GpupoolError
from gpupool.facts.slurm_packages import release_of
from gpupool.reasons import Code, Reason
from gpupool.remote.controller import Controller, NoAnswerError, RefusedError
from gpupool.run.observer import Observer
from gpupool.run.runner import DeployRunner, Steps
from gpupool.upgrade import steps
from gpupool.upgrade.order import batches, stages
from gpupool.upgrade.prepare import Prepared, older_jobs
from gpupool.upgrade.rollback import AGAIN, Rollback
from gpupool.upkeep import drain
from gpupool.upkeep.hold import Hold
from gpupool.upkeep.state import states

WORK = "upgrade"
BACKUP_SECONDS = 6 * 3600.0
#: The only failure after which the database and the packages of slurmdbd are rolled back.
SLURMDBD_DOWN = Reason(Code.UNIT_DOWN, "slurmdbd.service")
REGISTER_SECONDS = 180.0  # time limit for a started daemon to register or answer
_POLL_SECONDS = 2.0


class Upgrade:
    """One upgrade of the nodes in `prepared`.

    GpupoolError if it cannot continue: the message has the present state of the cluster, and what to do.
    """

    def __init__(
        self, controller: Controller, runner: DeployRunner, hold: Hold, observer: Observer, prepared: Prepared
    ) -> None:
        self._controller, self._runner, self._hold, self._observer = controller, runner, hold, observer
        self._cluster = runner.target.cluster
        self._release = self._cluster.slurm.version
        self._todo, self._reached = prepared.todo, prepared.reached
        self._rollback = Rollback(controller, runner)

    def run(self, at_most: int, *, drill: bool = False) -> None:
        """Fetch all packages, back up, run all stages, then apply the inventory on all nodes with Slurm.

        Before any change, wait without a time limit for jobs that the new release would lose.

        At most `at_most` compute nodes change at once. `drill` first restores the backup with the new release on this
        machine, and stops the upgrade if anything differs.
        """
        with self._runner.keep_powered_up(self._reached):
            if self._todo:
                self._wait_for_older_jobs()
                self._do(steps.fetch, self._todo, "nothing was changed")
            if self._back_up() and drill:
                self._drill()
            self._stages(at_most)

    def _wait_for_older_jobs(self) -> None:
        older = older_jobs(self._controller, self._cluster, self._reached, self._rollback)
        while left := older.now():
            for name, jobs in left.items():
                self._observer.step(name, f"waiting for {drain.jobs_in_brief(jobs)} of an older release")
            with self._observer.waiting(list(left), 0, len(left)):
                time.sleep(drain.LOOK_SECONDS)
            self._hold.ensure()

    def _back_up(self) -> bool:
        """Back up database and state; return False, without a backup, if slurmdbd already has the new release."""
        if self._rollback.release() == self._release:
            return False
        for name in dict.fromkeys((self._cluster.database.name, self._cluster.controllers[0].name)):
            self._observer.step(name, "making a backup")
            try:
                self._controller.output_on(name, COMMAND, "make", seconds=BACKUP_SECONDS)
            except RefusedError as error:
                raise GpupoolError(f"{error}; nothing was changed") from None
        return True

    def _drill(self) -> None:
        from gpupool.rehearsal.drill import run

        restored = run(self._runner.target, "", self._release, partial(self._observer.step, "drill"))
        self._observer.drilled(restored)
        if not restored.ok:
            raise GpupoolError("the drill found differences, and nothing was changed")

    def _stages(self, at_most: int) -> None:
        for stage in stages(self._cluster, self._reached):
            self._hold.ensure()
            pending = [node for node in stage.nodes if node.name in self._todo]
            match stage.kind:
                case "compute nodes":
                    self._ensure_slurmctld_runs()
                    self._compute(stage.nodes, at_most)
                case "slurmdbd" if pending:
                    self._database(pending[0])
                    self._start_controllers(pending)
                case "backup controllers" | "the first controller" if pending:
                    self._install(pending)
                    self._start_controllers(pending)
                case "the others" if pending:
                    self._install(pending)
        self._hold.ensure()
        self._apply(self._reached)
        self._do(steps.tidy, self._reached, AGAIN)

    # Stages

    def _install(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._observer.step(node.name, f"upgrading to Slurm {self._release}")
        self._do(steps.change, [node.name for node in nodes], AGAIN)

    def _do(self, deploy: Steps, names: Collection[str], advice: str) -> None:
        self._runner.deploy(deploy, names, execute=True).ensure_ok(advice)

    def _apply(self, names: Collection[str]) -> None:
        self._runner.apply(names).ensure_ok(f"it already has the packages of Slurm {self._release}; {AGAIN}")

    def _database(self, node: Node) -> None:
        self._observer.step(
            node.name, f"upgrading to Slurm {self._release}; slurmdbd converts its database, jobs keep running"
        )
        report = self._runner.deploy(steps.database, [node.name], execute=True)
        report.ensure_not_interrupted()
        why = report.failures.get(node.name)
        if why is None:
            self._observer.step(node.name, f"slurmdbd {self._release} answers")
            return
        # roll back only if slurmdbd does not run: after a lost connection, for example, slurmdbd may work
        if report.hosts[node.name].reason != SLURMDBD_DOWN:
            raise GpupoolError(f"{node.name}: {why}; the other nodes are unchanged: {AGAIN}")
        if self._rollback.release() != self._release:
            raise GpupoolError(f"{node.name}: {why}; nothing was converted, and the other nodes are unchanged")
        self._observer.step(node.name, f"{why}; rolling back slurmdbd and its database")
        raise GpupoolError(f"{node.name}: {why}\n{self._rollback.run()}")

    def _start_controllers(self, nodes: Sequence[Node]) -> None:
        """Apply the inventory on controllers, which starts slurmctld with its new files."""
        controllers = [node for node in nodes if node.has("controller", "backup-controller")]
        if not controllers:
            return
        self._apply([node.name for node in controllers])
        if self._cluster.controllers[0] in controllers:
            self._observer.step(self._cluster.controllers[0].name, f"slurmctld {self._wait_for_slurmctld()} answers")

    def _ensure_slurmctld_runs(self) -> None:
        """Start slurmctld, if an earlier run has replaced its packages and was ended, or refused, before its start."""
        try:
            self._controller.ask("scontrol", "show", "config")
        except NoAnswerError:
            self._start_controllers(self._cluster.controllers)

    def _compute(self, nodes: Sequence[Node], at_most: int) -> None:
        drained = {name for name, state in states(self._controller, nodes).items() if state.is_ours(WORK)}
        todo = [node for node in nodes if node.name in self._todo or node.name in drained]
        for batch in batches(todo, at_most):
            self._hold.ensure()
            # a job that starts in the seconds without slurmd would fail
            drain.drain(self._controller, batch, WORK, f"Slurm {self._release}; running jobs continue")
            report = self._runner.deploy(steps.change, [node.name for node in batch], execute=True)
            report.ensure_not_interrupted()
            failed = {
                **self._wait_for_slurmd([node for node in batch if node.name not in report.failures]),
                **report.failures,
            }
            for node in batch:
                self._observer.step(node.name, failed.get(node.name) or f"slurmd {self._release} is registered")
                if node.name in failed:
                    drain.drain(self._controller, [node], WORK, f"failed: {failed[node.name]}")
            drain.resume(self._controller, [node for node in batch if node.name not in failed], WORK)
            if failed:
                reasons = "; ".join(f"{name}: {why}" for name, why in failed.items())
                raise GpupoolError(f"{reasons}\n{', '.join(failed)} stay drained, and the upgrade stops here: {AGAIN}")

    # Waiting for daemons

    def _wait_for_slurmctld(self) -> str:
        """Wait for a slurmctld of the new release, and return its version; GpupoolError after REGISTER_SECONDS."""
        why, end = "", time.monotonic() + REGISTER_SECONDS
        while time.monotonic() < end:
            try:
                config = self._controller.ask("scontrol", "show", "config")
                version = next(
                    (line.split()[-1] for line in config.splitlines() if line.startswith("SLURM_VERSION")), ""
                )
                if release_of(version) == self._release:
                    return version
                why = f"slurmctld {version} answers"
            except (NoAnswerError, RefusedError) as error:
                why = str(error)
            time.sleep(_POLL_SECONDS)
        raise GpupoolError(f"no slurmctld {self._release} after {REGISTER_SECONDS:.0f} s ({why}); {AGAIN}")

    def _wait_for_slurmd(self, nodes: Sequence[Node]) -> dict[str, str]:
        """Return the nodes whose new slurmd has not registered within REGISTER_SECONDS, with the reason."""
        missing, end = {node.name: "slurmctld does not know it" for node in nodes}, time.monotonic() + REGISTER_SECONDS
        while missing and time.monotonic() < end:
            known = states(self._controller, nodes)
            for name, state in known.items():
                if (
                    state.answers
                    and release_of(state.version) == self._release
                    and not {"DOWN", "INVALID_REG"} & state.flags
                ):
                    missing.pop(name, None)
                elif name in missing:
                    missing[name] = (
                        f"slurmctld reports {'+'.join(sorted(state.flags))}, slurmd {state.version or 'not registered'}"
                    )
            if missing:
                time.sleep(_POLL_SECONDS)
        return missing
