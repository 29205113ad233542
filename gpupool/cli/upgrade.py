"""`gpupool upgrade`: another release of Slurm on all nodes, in Slurm's order."""

import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.asleep import asleep
from gpupool.cli.price import grouped
from gpupool.cli.running import announced_door, passed_over, show
from gpupool.cli.screen import Inventory, OnOption, stderr, stdout
from gpupool.cluster.model import Cluster
from gpupool.engine.report import Change, Report
from gpupool.errors import GpupoolError, UsageError
from gpupool.run.door import Door
from gpupool.target import Target
from gpupool.terminal import styled
from gpupool.wording import counted, few

if TYPE_CHECKING:
    from gpupool.upgrade.run import Upgrade

_LOST = "cannot be reached"
_LEFT_OVER = "Afterwards"


def command(
    inventory: Inventory,
    at_most: Annotated[
        int, typer.Option("--at-most", min=1, help="Most compute nodes upgraded at once; the first goes alone.")
    ] = 4,
    drill: Annotated[
        bool, typer.Option("--drill", help="First test the new version with a backup, on this machine.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Begin without showing the plan and asking first.")] = False,
    on: OnOption = "auto",
) -> None:
    """Upgrade Slurm on all nodes to slurm.version, in Slurm's order, while jobs run; then apply and verify.

    If slurmdbd cannot convert its database, it is rolled back. After Ctrl-C, run the same command again to continue.
    Exit code 1 if a node is not upgraded.
    """
    door = announced_door(inventory, on, "upgrade")
    target = door.target
    if target.cluster.slurm.backup is None:
        raise UsageError("the inventory has no slurm.backup: without a backup an upgrade cannot be rolled back")
    if target.cluster.database.has("compute") and target.cluster.database != target.cluster.controllers[0]:
        # its slurmd would be newer than slurmctld, or away for as long as slurmdbd converts
        raise UsageError(
            f"{target.cluster.database.name} has the roles database and compute: remove compute for the upgrade"
        )
    if not yes and not sys.stdin.isatty():
        raise GpupoolError("upgrade changes nodes: use --yes, or run it in a terminal to see the plan and confirm it")
    door.load()
    from gpupool.remote.controller import reach
    from gpupool.upgrade import steps
    from gpupool.upgrade.run import Upgrade, Ways
    from gpupool.upkeep.hold import held

    names = {node.name for node in target.nodes if node.runs_slurm}
    resting = asleep(target, names)
    names -= set(resting)
    with reach(target) as controller, held(controller) as hold:
        ways = Ways(lambda deploy, some: door.deploy(deploy, some, execute=True), door.apply, _tell)
        earlier = Upgrade(controller, hold, ways, (), names)
        if earlier.goes_back():
            raise GpupoolError(f"an earlier upgrade was killed during its rollback\n{earlier.go_back()}")
        report = door.deploy(steps.look, names, execute=False)
        lost = _refuse(target, report)
        work = {
            name: [it for it in host.changes if not it.operation.startswith(_LEFT_OVER)]
            for name, host in report.hosts.items()
        }
        todo = [name for name, changes in work.items() if changes]
        if not report.changed:
            _end(target, names - lost, lost, resting, "nothing to upgrade")
            return
        _refuse_others(door, earlier.former(), work)
        _show(target, report, todo, at_most)
        if not yes and not typer.confirm(
            f"Upgrade {counted(len(todo), 'node')} to {target.cluster.slurm.version}?", err=True
        ):
            return
        upgrade = Upgrade(controller, hold, ways, todo, names - lost)
        _do(door, upgrade, names - lost, at_most, drill)
    _end(
        target,
        names - lost,
        lost,
        resting,
        f"{counted(len(todo), 'node')} upgraded to Slurm {target.cluster.slurm.version}",
    )


def _do(door: Door, upgrade: "Upgrade", names: Collection[str], at_most: int, drill: bool) -> None:
    try:
        with door.awake(names):
            upgrade.fetch()
            if upgrade.back_up() and drill:
                _drill(door.target)
            upgrade.run(at_most)
    except KeyboardInterrupt:
        stderr.print(
            "stopped: jobs keep running, but nodes may stay drained and daemons stopped; run the same command again",
            style="yellow",
        )
        raise


def _refuse(target: Target, report: Report) -> set[str]:
    """Refuse, with every node that cannot be upgraded; return the nodes that are only lost, and can come later."""
    if report.interrupted:
        raise KeyboardInterrupt
    first = {target.cluster.database.name, *(node.name for node in target.cluster.controllers)}
    lost = {name for name, why in report.failures.items() if why.startswith(_LOST) and name not in first}
    bad = {name: why for name, why in report.failures.items() if name not in lost}
    for name, why in bad.items():
        stderr.print(styled((name, "red"), ": ", why))
    if bad:
        raise GpupoolError(f"{counted(len(bad), 'node')} cannot be upgraded, and nothing was changed")
    return lost


def _refuse_others(door: Door, former: Cluster | None, work: Mapping[str, Sequence[Change]]) -> None:
    """Refuse while other changes of the inventory wait where the daemons are stopped: they may be refused too late."""
    target = door.target
    first = {target.cluster.database.name, *(node.name for node in target.cluster.controllers)}
    # what was begun has changed already
    if former is None or not all(work.get(name) for name in first):
        return
    report = door.to(replace(target, cluster=former)).plan(first)
    for name, why in report.failures.items():
        raise GpupoolError(f"{name}: {why}; nothing was changed")
    if report.changed:
        show(stderr, report, diffs=False)
        raise GpupoolError(
            "the inventory has other changes than slurm.version: apply them first, with the former version; "
            "nothing was changed"
        )


def _tell(name: str, what: str) -> None:
    stderr.print(styled(f"{time.strftime('%H:%M:%S')}  ", (name, "bold"), f"  {what}"))


def _show(target: Target, report: Report, todo: Collection[str], at_most: int) -> None:
    """Print what is replaced where, and in which order."""
    from gpupool.upgrade.order import stages

    for change, names in grouped(report).items():
        diff = " ".join((change.diff or "").split())
        if not change.operation.startswith("Packages"):
            stderr.print(
                styled((few(names), "bold"), f": {change.operation.partition(' | ')[2]}{f': {diff}' if diff else ''}")
            )
    stderr.print("in this order, while jobs run; no job is ended:")
    for stage in stages(target.cluster, todo):
        some = few(node.name for node in stage.nodes)
        more = f" ({at_most} at once; the first alone; no new jobs meanwhile)" if stage.kind == "compute nodes" else ""
        stderr.print(styled((f"  {stage.kind}", "bold"), f": {some}{more}"))


def _drill(target: Target) -> None:
    from gpupool.rehearsal.drill import run

    with stderr.status("drill") as status:
        result = run(target, "", target.cluster.slurm.version, lambda message: status.update(styled(message)))
    for line, style in result.lines():
        stderr.print(line, style=style)
    if not result.ok:
        raise GpupoolError("the drill found differences, and nothing was changed")


def _end(target: Target, names: Collection[str], lost: Collection[str], resting: Collection[str], what: str) -> None:
    """Verify, and print one line."""
    from gpupool.verify.run import Outcome, run

    with stderr.status("checking") as status:

        def tell(outcome: Outcome) -> None:
            status.update(styled(f"{outcome.node}: {outcome.check}"))

        outcomes = run(target, set(names), tell)
    failed = [it for it in outcomes if not it.ok]
    for failure in failed:
        stdout.print(styled((failure.node, "red"), f": {failure.check}: {failure.why}"))
    for name in lost:
        stdout.print(styled((name, "red"), ": cannot be reached: run the same command again when it is back"))
    checks = (
        f"{len(failed)} of {counted(len(outcomes), 'check')} failed"
        if failed
        else f"{counted(len(outcomes), 'check')} pass"
    )
    bad = bool(failed or lost)
    stdout.print(f"{what}; {checks}{passed_over(sorted(resting))}", style="bold red" if bad else "bold green")
    if bad:
        raise SystemExit(1)
