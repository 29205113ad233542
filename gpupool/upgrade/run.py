"""The whole upgrade, stage by stage. What a node has installed, and what it runs with, tells where it is.

So a run that was killed is gone on with by the next one, from any machine that has the inventory. The drains of
compute nodes are Slurm's; only what the way back needs is kept on the node of the database, until all is over.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast, get_args

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.schema.scheduling import SlurmVersion
from gpupool.compile.system.backup import COMMAND
from gpupool.engine.report import Report
from gpupool.errors import GpupoolError
from gpupool.facts.slurm_packages import FOLDER, release_of
from gpupool.rehearsal.twin.compiled import of_version
from gpupool.remote.controller import Controller, NoAnswerError, RefusedError
from gpupool.upgrade import steps
from gpupool.upgrade.order import batches, stages
from gpupool.upkeep import drain
from gpupool.upkeep.hold import Hold
from gpupool.upkeep.state import states

WORK = "upgrade"
BACKUP_SECONDS = 6 * 3600.0
REGISTER_SECONDS = 180.0  # until a daemon that was started is given up
_LOOK_SECONDS = 2.0
_AGAIN = "fix it, then run the same command again"

Deploy = Callable[[], object]
Tell = Callable[[str, str], None]


@dataclass(frozen=True)
class Ways:
    """How the nodes are reached: run a deploy on some of them, apply the inventory, and say what happens."""

    run: Callable[[Deploy, Collection[str]], Report]
    apply: Callable[[Collection[str]], Report]
    tell: Tell


class Upgrade:
    """One run. `names` are nodes with anything to be done, `everywhere` those that run Slurm and can be reached.

    What cannot be done is a GpupoolError that says what the cluster has now, and what to do.
    """

    def __init__(
        self, controller: Controller, hold: Hold, ways: Ways, names: Collection[str], everywhere: Collection[str]
    ) -> None:
        self._controller, self._hold, self._ways = controller, hold, ways
        self._cluster = controller.target.cluster
        self._release = self._cluster.slurm.version
        self._names, self._everywhere = names, everywhere

    def fetch(self) -> None:
        """Have all files at hand everywhere, before anything changes."""
        if self._names:
            _ensure(self._ways.run(steps.fetch, self._names), "nothing was changed")

    def back_up(self) -> bool:
        """Back up database and state; False where the database is the new release's already."""
        database, first = self._cluster.database.name, self._cluster.controllers[0].name
        if self._release_on(database) == self._release:
            return False
        for name in dict.fromkeys((database, first)):
            self._ways.tell(name, "makes a backup")
            try:
                self._controller.on(name, COMMAND, "make", seconds=BACKUP_SECONDS)
            except RefusedError as error:
                raise GpupoolError(f"{error}; nothing was changed") from None
        return True

    def run(self, at_most: int) -> None:
        """Do all stages, then apply the inventory on all nodes of Slurm."""
        for stage in stages(self._cluster, self._everywhere):
            self._hold.ensure()
            mine = [node for node in stage.nodes if node.name in self._names]
            match stage.kind:
                case "compute nodes":
                    self._compute(stage.nodes, at_most)
                case "slurmdbd" if mine:
                    self._database(mine[0])
                    self._start_controllers(mine)
                case "backup controllers" | "the first controller" if mine:
                    self._change(mine)
                    self._start_controllers(mine)
                case "the others" if mine:
                    self._change(mine)
        self._hold.ensure()
        self._apply(self._everywhere)
        _ensure(self._ways.run(steps.tidy, self._everywhere), _AGAIN)

    # Stages

    def _change(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self._ways.tell(node.name, f"upgrading to Slurm {self._release}")
        _ensure(self._ways.run(steps.change, [node.name for node in nodes]), _AGAIN)

    def _apply(self, names: Collection[str]) -> None:
        _ensure(self._ways.apply(names), f"its packages are already of Slurm {self._release}; {_AGAIN}")

    def _database(self, node: Node) -> None:
        self._ways.tell(
            node.name, f"upgrading to Slurm {self._release}; slurmdbd converts its database, jobs keep running"
        )
        report = self._ways.run(steps.database, [node.name])
        why = report.failures.get(node.name)
        if report.interrupted:
            raise KeyboardInterrupt
        if why is None:
            self._ways.tell(node.name, f"slurmdbd {self._release} answers")
            return
        # a lost connection says nothing about the database
        if "slurmdbd does not run" not in why and "slurmdbd.service " not in why:
            raise GpupoolError(f"{node.name}: {why}; the other nodes are unchanged: {_AGAIN}")
        if self._release_on(node.name) != self._release:
            raise GpupoolError(f"{node.name}: {why}; nothing was converted, and the other nodes are unchanged")
        self._ways.tell(node.name, f"{why}; rolling back slurmdbd and its database")
        raise GpupoolError(f"{node.name}: {why}\n{self.go_back()}")

    def _start_controllers(self, nodes: Sequence[Node]) -> None:
        """Give controllers their new files, and have them start with them."""
        controllers = [node for node in nodes if node.has("controller", "backup-controller")]
        if not controllers:
            return
        self._apply([node.name for node in controllers])
        if self._cluster.controllers[0] in controllers:
            self._ways.tell(self._cluster.controllers[0].name, f"slurmctld {self._slurmctld()} answers")

    def _compute(self, nodes: Sequence[Node], at_most: int) -> None:
        ours = {name for name, state in states(self._controller, nodes).items() if state.is_ours(WORK)}
        todo = [node for node in nodes if node.name in self._names or node.name in ours]
        for batch in batches(todo, at_most):
            self._hold.ensure()
            # no job may start, and fail, in the seconds without slurmd
            drain.drain(self._controller, batch, WORK, f"Slurm {self._release}; running jobs continue")
            report = self._ways.run(steps.change, [node.name for node in batch])
            if report.interrupted:
                raise KeyboardInterrupt
            late = {**self._late([node for node in batch if node.name not in report.failures]), **report.failures}
            for node in batch:
                self._ways.tell(node.name, late.get(node.name) or f"slurmd {self._release} is registered")
                if node.name in late:
                    drain.drain(self._controller, [node], WORK, f"failed: {late[node.name]}")
            drain.resume(self._controller, [node for node in batch if node.name not in late], WORK)
            if late:
                reasons = "; ".join(f"{name}: {why}" for name, why in late.items())
                raise GpupoolError(f"{reasons}\n{', '.join(late)} stay drained, and the upgrade stops here: {_AGAIN}")

    # The way back

    def goes_back(self) -> bool:
        """Return whether an earlier run was killed while it went back."""
        return self._read("back") is not None

    def go_back(self) -> str:
        """Have slurmdbd run as it was, and return what was done; GpupoolError where it cannot."""
        node = self._cluster.database
        backup, old = self._read("backup"), self._read("old/list")
        if not backup or not old:
            raise GpupoolError(
                f"{node.name}: cannot roll back: {FOLDER} does not have the former packages (see docs/upgrade.md)"
            )
        version = dict(line.split("=", 1) for line in old.splitlines())["slurmdbd"]
        name = backup.rpartition("/")[2]
        report = self._ways.run(partial(steps.back, self._former(release_of(version)), name), [node.name])
        if report.interrupted:
            raise KeyboardInterrupt
        if why := report.failures.get(node.name):
            raise GpupoolError(
                f"{node.name}: cannot roll back to slurmdbd {version} with {name}: {why}\n"
                f"jobs keep running, and slurmctld stores what slurmdbd has to record; {_AGAIN}, or see docs/upgrade.md"
            )
        return (
            f"{node.name} has Slurm {version} again, and slurmdbd answers with the database of {name}; the "
            "partly converted one is kept as slurm_acct_db_aside_TIME in MariaDB. No other node changed, and no job "
            f"ended. Set slurm.version back to {release_of(version)}, or repair the database and run this again"
        )

    def former(self) -> Cluster | None:
        """Return the cluster as it was with the release that slurmdbd has; None where it has the new one already."""
        release = self._release_on(self._cluster.database.name)
        return None if release in ("", self._release) else self._former(release)

    def _former(self, release: str) -> Cluster:
        known = release in get_args(SlurmVersion)
        return of_version(self._cluster, cast(SlurmVersion, release)) if known else self._cluster

    # Looks

    def _read(self, name: str) -> str | None:
        try:
            return self._controller.on(self._cluster.database.name, "cat", f"{FOLDER}/{name}").strip()
        except RefusedError:
            return None

    def _release_on(self, name: str) -> str:
        try:
            return release_of(self._controller.on(name, "dpkg-query", "-W", "-f=${Version}", "slurmdbd"))
        except RefusedError:
            return ""

    def _slurmctld(self) -> str:
        """Return the version of the slurmctld that answers, once it is of the new release."""
        why, end = "", time.monotonic() + REGISTER_SECONDS
        while time.monotonic() < end:
            try:
                shown = self._controller.ask("scontrol", "show", "config")
                version = next((it.split()[-1] for it in shown.splitlines() if it.startswith("SLURM_VERSION")), "")
                if release_of(version) == self._release:
                    return version
                why = f"slurmctld {version} answers"
            except (NoAnswerError, RefusedError) as error:
                why = str(error)
            time.sleep(_LOOK_SECONDS)
        raise GpupoolError(f"slurmctld of Slurm {self._release} does not answer: {why}: {_AGAIN}")

    def _late(self, nodes: Sequence[Node]) -> dict[str, str]:
        """Return the nodes that have not registered with the new slurmd in time, with the reason."""
        why, end = {node.name: "slurmctld does not know it" for node in nodes}, time.monotonic() + REGISTER_SECONDS
        while why and time.monotonic() < end:
            known = states(self._controller, nodes)
            for name, state in known.items():
                if (
                    state.answers
                    and release_of(state.version) == self._release
                    and not {"DOWN", "INVALID_REG"} & state.flags
                ):
                    why.pop(name, None)
                elif name in why:
                    why[name] = (
                        f"slurmctld reports {'+'.join(sorted(state.flags))}, slurmd {state.version or 'not registered'}"
                    )
            if why:
                time.sleep(_LOOK_SECONDS)
        return why


def _ensure(report: Report, what_now: str) -> None:
    """Raise where a node has failed, or the run was interrupted."""
    if report.interrupted:
        raise KeyboardInterrupt
    if report.failures:
        raise GpupoolError("\n".join((*(f"{name}: {why}" for name, why in report.failures.items()), what_now)))
