"""The checks before an upgrade changes anything: the nodes with work to do, and reasons against the upgrade."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpupool.change import Change
from gpupool.cluster.model import Cluster
from gpupool.engine.report import Report
from gpupool.errors import GpupoolError
from gpupool.remote.controller import Controller
from gpupool.run.runner import DeployRunner
from gpupool.slurm.jobs import Job
from gpupool.upgrade import steps
from gpupool.upgrade.older_jobs import OlderJobs
from gpupool.upgrade.order import TIDY
from gpupool.upgrade.rollback import Rollback
from gpupool.wording import counted, shortened


@dataclass(frozen=True)
class Prepared:
    """The start of an upgrade: the plan, the nodes with work (`todo`), and the nodes with Slurm that were `reached`.

    `lost` nodes cannot be reached, and can be upgraded later. `report.asleep` are nodes that are switched off. `older`
    are jobs, by node, that have to end before: they began under a release that the new one does not read.
    """

    report: Report
    todo: tuple[str, ...]
    reached: tuple[str, ...]
    lost: tuple[str, ...]
    older: Mapping[str, tuple[Job, ...]] = field(default_factory=dict)


def prepare(controller: Controller, runner: DeployRunner) -> Prepared:
    """Check all nodes with Slurm and change nothing, except that a rollback that was killed is finished first.

    GpupoolError after such a rollback, or with each node that cannot be upgraded, or if the nodes of slurmdbd and
    slurmctld have other changes pending.
    """
    rollback = Rollback(controller, runner)
    if rollback.was_interrupted():
        raise GpupoolError(f"an earlier upgrade was killed during its rollback\n{rollback.run()}")
    report = runner.deploy(steps.look, {node.name for node in runner.target.nodes if node.runs_slurm}, execute=False)
    lost = _lost(runner.target.cluster, report)
    work = {name: [change for change in host.changes if change.step != TIDY] for name, host in report.hosts.items()}
    if report.changed:
        _ensure_no_other_changes(runner, rollback.former(), work)
    todo = tuple(name for name, changes in work.items() if changes)
    reached = tuple(name for name in report.hosts if name not in lost)
    older = older_jobs(controller, runner.target.cluster, reached, rollback).now() if todo else {}
    return Prepared(report, todo, reached, lost, older)


def older_jobs(controller: Controller, cluster: Cluster, reached: Collection[str], rollback: Rollback) -> OlderJobs:
    """Return the jobs on the compute nodes among the `reached` ones that the new release would lose."""
    nodes = [node for node in cluster.having("compute") if node.name in reached]
    release = cluster.slurm.version
    return OlderJobs(controller, nodes, release, begun=rollback.release() == release)


def _lost(cluster: Cluster, report: Report) -> tuple[str, ...]:
    """Return the nodes that cannot be reached; GpupoolError if such a node is needed now, or a node fails otherwise."""
    report.ensure_not_interrupted()
    first = _first(cluster)
    lost = tuple(name for name, host in report.hosts.items() if not host.reached and name not in first)
    if bad := [f"{name}: {why}" for name, why in report.failures.items() if name not in lost]:
        nodes = counted(len(bad), "node")
        raise GpupoolError("\n".join([*bad, f"{nodes} cannot be upgraded, and nothing was changed"]))
    return lost


def _ensure_no_other_changes(
    runner: DeployRunner, former: Cluster | None, work: Mapping[str, Sequence[Change]]
) -> None:
    """Raise GpupoolError if the first nodes have other changes pending, which might fail after daemons were stopped.

    `former` is the cluster with its former release; None if slurmdbd already has the new release.
    """
    first = _first(runner.target.cluster)
    if former is None or not all(work.get(name) for name in first):
        return
    report = runner.to(replace(runner.target, cluster=former)).plan(first)
    report.ensure_ok("nothing was changed")
    if report.changed:
        changes = [f"{shortened(names)}: {change.operation}" for change, names in report.grouped.items()]
        raise GpupoolError(
            "\n".join(
                [
                    *changes,
                    "the inventory has other changes than slurm.version: apply them first, with the former version; "
                    "nothing was changed",
                ]
            )
        )


def _first(cluster: Cluster) -> set[str]:
    """Return the first nodes of an upgrade: the database and all controllers."""
    return {cluster.database.name, *(node.name for node in cluster.controllers)}
