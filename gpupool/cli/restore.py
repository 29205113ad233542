"""`gpupool restore`: restore the accounting database or a whole controller, or try that on a twin."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli.running import announced_runner, exit_if_failed
from gpupool.cli.screen import Inventory, Json, OnOption, ensure_confirmable, print_json, stderr, stdout
from gpupool.cli.watch import Watch
from gpupool.documents.runs import RecoveryDocument
from gpupool.errors import UsageError
from gpupool.remote.nodes import Nodes
from gpupool.run.runner import DeployRunner
from gpupool.slurm.releases import Tested
from gpupool.slurm.upgrades import takes_over_from
from gpupool.target import Target
from gpupool.terminal import styled

if TYPE_CHECKING:
    from gpupool.upkeep.lost_controller import Plan


def command(
    inventory: Inventory,
    drill: Annotated[
        bool, typer.Option("--drill", help="Restore on a twin on this machine; the cluster is only read.")
    ] = False,
    controller: Annotated[
        bool,
        typer.Option(
            "--controller",
            help="Restore a lost controller: munge key, database, queue. Running jobs that the queue lacks end.",
        ),
    ] = False,
    backup: Annotated[
        str, typer.Option("--backup", help="Name of a backup of the database; default: the newest.", metavar="NAME")
    ] = "",
    slurm: Annotated[
        Tested | None,
        typer.Option("--slurm", help="With --drill: test with this version of Slurm, before an upgrade to it."),
    ] = None,
    aside: Annotated[
        bool,
        typer.Option(
            "--aside", help="Replace a database that has jobs, and keep it under another name; else restore refuses."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Restore without asking first.")] = False,
    on: OnOption = "auto",
    as_json: Json = False,
) -> None:
    """Restore a lost accounting database from a backup, or with --controller all that a lost controller had.

    Exit code 1 if that failed, or if a drill found jobs or associations missing.

    Changes: slurmdbd's database, or with --controller the controller; with --drill nothing.

    Examples:
      gpupool restore my-site --drill
      gpupool restore my-site --backup NAME --aside
      gpupool restore my-site --controller
    """
    runner = announced_runner(inventory, on, "restore")
    target = runner.target
    if controller:
        if drill or slurm:
            raise UsageError("--drill and --slurm cannot be combined with --controller")
        _bring_back(runner, backup, aside, yes, as_json)
        return
    if target.cluster.slurm.backup is None:
        raise UsageError("the inventory has no slurm.backup, so there are no backups")
    if drill:
        if aside or yes:
            raise UsageError("--aside and --yes cannot be combined with --drill, which changes nothing on the cluster")
        _drill(target, backup, slurm, as_json)
        return
    if slurm:
        raise UsageError("--slurm is only for --drill: a restore uses the Slurm that is installed")
    if not yes:
        ensure_confirmable(yes, "restore changes the accounting database")
        source = backup or "the newest backup"
        if not typer.confirm(f"Restore the database on {target.cluster.database.name} from {source}?", err=True):
            return
    _restore(runner, backup, aside, as_json)


def _bring_back(runner: DeployRunner, backup: str, aside: bool, yes: bool, as_json: bool) -> None:
    ensure_confirmable(yes, "restore --controller starts slurmctld")
    runner.load()
    from gpupool.upkeep.lost_controller import Recovery

    with Nodes.of(runner.target) as nodes:
        recovery = Recovery(runner, nodes, Watch(stderr))
        plan = recovery.prepare(backup)
        for line in _described(plan):
            stderr.print(line)
        if not yes and not typer.confirm(f"Bring the controller of {runner.target.where} back?", err=True):
            return
        report = recovery.carry_out(plan, aside=aside)
    if as_json:
        print_json(
            RecoveryDocument(
                restored=list(plan.lost), ends=list(plan.ends), forgets=list(plan.forgets), **report.as_dict()
            )
        )
    else:
        for name, why in report.failures.items():
            stdout.print(styled((name, "red"), ": ", why))
        if report.ok:
            stdout.print(
                f"the controller is back ({report.seconds:.1f} s); gpupool plan shows the rest", style="bold green"
            )
    exit_if_failed(report)


def _described(plan: "Plan") -> Iterator[str]:
    """Yield a line for what is restored, and for the jobs that are lost."""
    yield f"lost: {', '.join(plan.lost) or 'nothing; slurmctld is started if it does not run'}"
    if plan.silent:
        yield f"no answer, so that their jobs are unknown: {', '.join(plan.silent)}"
    if plan.ends:
        yield f"running jobs that are not in the backup, and will end: {', '.join(plan.ends)}"
    if plan.forgets:
        yield f"other jobs that are not in the backup, and will be lost: {', '.join(plan.forgets)}"
    if not plan.ends:
        yield "no running job will end"


def _restore(runner: DeployRunner, backup: str, aside: bool, as_json: bool) -> None:
    from gpupool.run.restore import restore

    report = restore(runner, backup, aside=aside)
    if as_json:
        print_json(report.as_dict())
    else:
        for name, why in report.failures.items():
            stdout.print(styled((name, "red"), ": ", why))
        if report.ok:
            stdout.print(
                f"the accounting database on {runner.target.cluster.database.name} is restored "
                f"({report.seconds:.1f} s); "
                "run gpupool apply to bring its accounts up to date",
                style="bold green",
            )
    exit_if_failed(report)


def _drill(target: Target, backup: str, slurm: Tested | None, as_json: bool) -> None:
    from gpupool.rehearsal.drill import run
    from gpupool.rehearsal.twin.image import runnable

    own = target.cluster.slurm.version
    allowed = takes_over_from(slurm) if slurm else ()
    if slurm and slurm != own and own not in allowed:
        raise UsageError(f"--slurm {slurm}: can only take over from {', '.join(allowed)}, and slurm.version is {own}")
    version = runnable(slurm or own)
    with stderr.status("drill") as status:
        restored = run(target, backup, version, lambda message: status.update(styled(message)))
    if as_json:
        print_json(restored.as_dict())
    else:
        for line, style in restored.lines():
            stdout.print(line, style=style)
    if not restored.ok:
        raise SystemExit(1)
