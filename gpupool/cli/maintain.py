"""`gpupool maintain`: change nodes in service, a few at a time."""

import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from gpupool.cli import complete
from gpupool.cli.running import announced_runner
from gpupool.cli.screen import Inventory, Json, OnOption, Verbose, ensure_confirmable, print_json, stderr, stdout
from gpupool.cli.watch import COLOURS, Watch
from gpupool.documents.nodes import MaintainDocument
from gpupool.errors import UsageError
from gpupool.terminal import styled
from gpupool.wording import counted, shortened

if TYPE_CHECKING:
    from gpupool.upkeep.packages import Scope
    from gpupool.upkeep.prepare import Prepared
    from gpupool.upkeep.waves import MaintenanceOptions

_SCOPES: "tuple[Scope, ...]" = ("security", "all")

Nodes = Annotated[
    str,
    typer.Option(
        "--nodes",
        help="Compute nodes to maintain: names, ranges or @roles. Other nodes are left out.",
        metavar="NODES",
        autocompletion=complete.nodes,
    ),
]
AtMost = Annotated[
    int,
    typer.Option(
        "--at-most", min=1, metavar="COUNT", help="Maximum nodes out of service at once; the first node is done alone."
    ),
]
PerLab = Annotated[
    int | None,
    typer.Option(
        "--per-lab", min=0, metavar="GPUS", help="Maximum GPUs of one lab out of service at once; default: no limit."
    ),
]
Reboot = Annotated[bool, typer.Option("--reboot", help="Reboot each node, even if it does not need it.")]
Wait = Annotated[
    str | None,
    typer.Option(
        "--wait",
        metavar="TIME",
        help="Maximum wait for a node's jobs, such as 4h; then it is resumed unchanged. Default: no limit.",
    ),
]
Packages = Annotated[
    str | None,
    typer.Option(
        "--packages",
        metavar="security|all",
        help="Also upgrade the distribution's packages: security fixes, or all; never Slurm's or the GPU driver's.",
        autocompletion=lambda: list(_SCOPES),
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Begin without showing the plan and asking first.")]


def command(
    inventory: Inventory,
    nodes: Nodes,
    at_most: AtMost = 1,
    per_lab: PerLab = None,
    reboot: Reboot = False,
    wait: Wait = None,
    packages: Packages = None,
    yes: Yes = False,
    on: OnOption = "auto",
    as_json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Apply the inventory on nodes in service: drain, wait for jobs, change, reboot where needed, test, resume.

    No job is ended. A node that fails stays drained, with the reason in Slurm; so do nodes that an admin drained.
    After Ctrl-C, run the same command again to continue.
    Exit code 1 if a node is not maintained.

    Changes: compute nodes; it drains and reboots them.

    Examples:
      gpupool maintain my-site --nodes @compute --at-most 4
      gpupool maintain my-site --nodes a40-01 --reboot --wait 4h
      gpupool maintain my-site --nodes @compute --packages security --at-most 4
    """
    runner = announced_runner(inventory, on, "maintain", verbose=verbose)
    ensure_confirmable(yes, "maintain changes nodes")
    patience, scope = _seconds(wait), _scope(packages)
    runner.load()
    from gpupool.upkeep.choice import chosen
    from gpupool.upkeep.controllers import locked_controllers
    from gpupool.upkeep.maintain import Maintenance
    from gpupool.upkeep.prepare import prepare
    from gpupool.upkeep.reboot import ensure_can_reboot
    from gpupool.upkeep.waves import Bounds, MaintenanceOptions

    selected = chosen(runner.target, nodes)
    if reboot:
        ensure_can_reboot(runner.target.cluster, selected)
    options = MaintenanceOptions(Bounds(at_most, per_lab), reboot, patience, scope)
    with locked_controllers(runner) as (controller, hold):
        ready = prepare(controller, runner, selected, options)
        _show_before(ready, options)
        work = [step for step in ready.progress.values() if step.phase == "waiting"]
        if work and not yes and not typer.confirm(f"Maintain {counted(len(work), 'node')}?", err=True):
            return
        began = time.monotonic()
        if work:
            try:
                Maintenance(controller, runner, hold, Watch(stderr), ready, options).run()
            except KeyboardInterrupt:
                _show_after(ready, 0, False)
                stderr.print(
                    "stopped: nodes in progress stay drained and reserved; run the same command again to continue",
                    style="yellow",
                )
                raise
        _show_after(ready, time.monotonic() - began, as_json)
    if not ready.ok:
        raise SystemExit(1)


def _seconds(wait: str | None) -> float | None:
    from gpupool.cluster.units import parse_duration

    try:
        return None if wait is None else parse_duration(wait)
    except ValueError as error:
        raise UsageError(f"--wait {error}") from None


def _scope(packages: str | None) -> "Scope | None":
    if packages is None:
        return None
    if packages not in _SCOPES:
        raise UsageError(f"--packages {packages}: write {' or '.join(_SCOPES)}")
    return _SCOPES[_SCOPES.index(packages)]


def _show_before(ready: "Prepared", options: "MaintenanceOptions") -> None:
    """Print the phase of each node, and how many of its resources each lab may lack at once."""
    for name, step in ready.progress.items():
        stderr.print(styled((name, "bold"), f": {step.phase}{f': {step.why}' if step.why else ''}"))
    if not any(step.phase == "waiting" for step in ready.progress.values()):
        return
    from rich.table import Table

    first = "the first node alone, then " if options.bounds.at_most > 1 else ""
    stderr.print(f"{first}{counted(options.bounds.at_most, 'node')} at a time; what each lab may lack meanwhile:")
    table = Table("Lab", "Owns", "May lack at once", box=None, header_style="bold", pad_edge=False)
    for share in ready.shares:
        if share.lab:
            table.add_row(share.account, f"{share.owned} {share.unit}", str(ready.lacking[share.account]))
    stderr.print_table(table)
    _show_price(ready)
    _show_held(ready)


def _show_price(ready: "Prepared") -> None:
    """Print the jobs that it waits for, and the hours in which nodes accept no other job."""
    price = ready.price
    if not price.jobs:
        stderr.print("price: no job runs on these nodes now")
        return
    text = (
        f"price: it waits for {counted(price.jobs, 'job')}; until their time limits, nodes accept no other job for at "
        f"most {price.hours:.1f} node hours"
    )
    if price.endless:
        text += f", and without limit on {', '.join(price.endless)}: a job there has no time limit"
    stderr.print(text)


def _show_held(ready: "Prepared") -> None:
    """Print the packages that stay though apt has a newer version, with the reason."""
    reasons: dict[str, dict[str, None]] = {}
    for newer in ready.newer.values():
        for package in newer.packages:
            if package.held:
                reasons.setdefault(package.held, {})[package.name] = None
    for why, packages in reasons.items():
        stderr.print(f"not raised: {shortened(packages)} ({why})")


def _show_after(ready: "Prepared", seconds: float, as_json: bool) -> None:
    """Print one line per node and a summary, or all of it as JSON."""
    progress = ready.progress
    if as_json:
        print_json(MaintainDocument({
            "ok": ready.ok,
            "seconds": round(seconds, 3),
            "nodes": {
                name: {"phase": step.phase, "why": step.why, "changes": step.changes} for name, step in progress.items()
            },
            "labs": [
                {
                    "lab": share.account, "owns": share.owned, "unit": share.unit,
                    "may_lack": ready.lacking[share.account],
                }
                for share in ready.shares
                if share.lab
            ],
        }))  # fmt: skip
        return
    for name, step in progress.items():
        if step.phase != "nothing to do":
            stdout.print(
                styled((name, COLOURS.get(step.phase, "bold")), f": {step.phase}{f': {step.why}' if step.why else ''}")
            )
    counts = Counter(step.phase for step in progress.values())
    summary = ", ".join(f"{count} {phase}" for phase, count in counts.items())
    stdout.print(f"{counted(len(progress), 'node')}: {summary}", style="bold green" if ready.ok else "bold red")
