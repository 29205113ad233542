"""Replace the munge key of a cluster while jobs run.

The cluster keeps no state of a replacement. A run that was killed has changed nothing, or has left slurmctld stopped,
which no job notices; the next run creates another key, replaces the keys of all nodes, and starts slurmctld.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.errors import GpupoolError, UsageError
from gpupool.remote.controller import Controller, NoAnswerError, RefusedError
from gpupool.run.observer import Observer
from gpupool.run.runner import DeployRunner
from gpupool.upkeep import drain, rekey_steps
from gpupool.upkeep.hold import Hold
from gpupool.upkeep.state import states

WORK = "rekey"
_AGAIN = "jobs keep running; run the same command again to continue"


@dataclass(frozen=True)
class Rekeying:
    """The plan: the nodes that get the new key, and the nodes that keep the old key and are drained (`left_out`)."""

    names: tuple[str, ...]
    left_out: tuple[Node, ...]


def prepare(runner: DeployRunner, without: str | None) -> Rekeying:
    """Return the plan, and change nothing; `without` selects the nodes to leave out.

    UsageError if those include a controller or the database's node. GpupoolError with each other node of Slurm that
    cannot be changed now: it would be cut off from Slurm, and its jobs would seem to run until their time limits.
    """
    cluster = runner.target.cluster
    left_out = _left_out(cluster, without)
    nodes = [node for node in cluster.nodes.values() if node.runs_slurm and node not in left_out]
    managed = {node.name for node in runner.target.nodes}
    names = tuple(node.name for node in nodes if node.name in managed)
    report = runner.deploy(rekey_steps.store, names, execute=False)
    report.ensure_not_interrupted()
    missing = {node.name: "gpupool does not log in there" for node in nodes if node.name not in managed}
    missing |= dict.fromkeys(report.asleep, "it is powered down") | report.failures
    if missing:
        lines = [f"{name}: {why}" for name, why in missing.items()]
        advice = "nothing was changed: each of these nodes needs the new key (--without NODES leaves compute nodes and"
        raise GpupoolError("\n".join([*lines, f"{advice} heads out, and drains the compute nodes)"]))
    return Rekeying(names, left_out)


def _left_out(cluster: Cluster, without: str | None) -> tuple[Node, ...]:
    """Return the nodes of Slurm that `without` selects, in inventory order."""
    try:
        chosen: Collection[str] = cluster.select(without) if without else ()
    except ValueError as error:
        raise UsageError(f"--without {error}") from None
    left_out = tuple(node for node in cluster.nodes.values() if node.name in chosen and node.runs_slurm)
    if without and not left_out:
        raise UsageError(f"--without {without!r} selects no node of Slurm")
    needed = [node.name for node in left_out if node in (*cluster.controllers, cluster.database)]
    if needed:
        raise UsageError(f"--without {', '.join(needed)}: Slurm needs all controllers and the database's node")
    return left_out


class Replacement:
    """One replacement of the munge key, as planned."""

    def __init__(
        self, controller: Controller, runner: DeployRunner, hold: Hold, observer: Observer, plan: Rekeying
    ) -> None:
        self._controller, self._runner, self._hold, self._observer = controller, runner, hold, observer
        self._plan = plan

    def run(self) -> None:
        """Replace the key; GpupoolError if a node failed. The next run then continues."""
        with self._runner.keep_powered_up(self._plan.names):
            self._store()
            # slurmctld may have been stopped by a run that was killed
            with suppress(NoAnswerError, RefusedError):
                self._drain()
            self._hold.ensure()
            self._step("slurmctld stops while all nodes change to the new key")
            self._runner.deploy(rekey_steps.replace, self._plan.names, execute=True).ensure_ok(_AGAIN)
            self._step("slurmctld runs, and all nodes use the new key")
            self._drain()

    def _store(self) -> None:
        """Store the new key on all nodes; if that fails, remove it from all of them."""
        self._step("a new munge key is created, and copied to all nodes")
        report = self._runner.deploy(rekey_steps.store, self._plan.names, execute=True)
        if not report.ok:
            self._runner.deploy(rekey_steps.discard, self._plan.names, execute=True)
        report.ensure_ok("all nodes keep their key")

    def _drain(self) -> None:
        """Drain the compute nodes that keep the old key; slurmctld then reports them as down."""
        compute = [node for node in self._plan.left_out if node.has("compute")]
        if not compute:
            return
        known = states(self._controller, compute)
        drain.drain(
            self._controller,
            [node for node in compute if node.name in known],
            WORK,
            "has the old munge key: gpupool apply, then scontrol update state=resume",
        )

    def _step(self, what: str) -> None:
        self._observer.step(self._runner.target.cluster.controllers[0].name, what)
