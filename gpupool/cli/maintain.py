"""`gpupool maintain`: change nodes in service, a few at a time."""

import sys
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from gpupool.cli import complete
from gpupool.cli.running import announced_target, run
from gpupool.cli.screen import Inventory, Json, OnOption, counted, print_json, stderr, stdout
from gpupool.cluster.model import Node
from gpupool.cluster.units import parse_duration
from gpupool.errors import GpupoolError, UsageError
from gpupool.target import Target
from gpupool.terminal import styled

if TYPE_CHECKING:
    from gpupool.engine.report import Report
    from gpupool.remote.controller import Controller
    from gpupool.upkeep.choice import Progress
    from gpupool.upkeep.hold import Hold
    from gpupool.upkeep.maintain import Wishes
    from gpupool.upkeep.prepare import Prepared

Nodes = Annotated[
    str,
    typer.Option(
        "--nodes",
        help="Nodes to maintain: names, ranges or @roles, as in the inventory.",
        autocompletion=complete.nodes,
    ),
]
AtMost = Annotated[
    int, typer.Option("--at-most", min=1, help="Most nodes out of service at once; the first goes alone.")
]
PerLab = Annotated[
    int | None,
    typer.Option("--per-lab", min=0, help="Most of its own GPUs that any lab may lack at once; default: no limit."),
]
Reboot = Annotated[bool, typer.Option("--reboot", help="Reboot each node, whether it needs it or not.")]
Wait = Annotated[
    str | None,
    typer.Option(
        "--wait", help="Longest wait for a node's jobs, such as 4h; then it is resumed unchanged. Default: no limit."
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Begin without showing the plan and asking first.")]

_COLOURS = {"done": "green", "failed": "red", "left alone": "yellow", "not begun": "yellow"}


def command(
    inventory: Inventory,
    nodes: Nodes,
    at_most: AtMost = 1,
    per_lab: PerLab = None,
    reboot: Reboot = False,
    wait: Wait = None,
    yes: Yes = False,
    on: OnOption = "auto",
    as_json: Json = False,
) -> None:
    """Apply the inventory on nodes in service: drain, wait for jobs, change, reboot where needed, test, resume.

    No job is ended, and nodes that others drained stay drained. After Ctrl-C, run the same command again to continue.
    Exit code 1 if a node is not maintained.
    """
    target = announced_target(inventory, on)
    chosen = _chosen(target, nodes)
    patience = _seconds(wait)
    # first of all: it changes how threads and sockets work
    import gpupool.engine.drive  # noqa: F401
    from gpupool.remote.controller import reach
    from gpupool.upkeep.hold import held
    from gpupool.upkeep.maintain import Wishes
    from gpupool.upkeep.prepare import prepare
    from gpupool.upkeep.waves import Bounds

    if not yes and not sys.stdin.isatty():
        raise GpupoolError("maintain changes nodes: use --yes, or run it in a terminal to see the plan and confirm it")
    wishes = Wishes(Bounds(at_most, per_lab), reboot, patience)
    with reach(target) as controller, held(controller) as hold:
        ready = prepare(controller, chosen, wishes, lambda names: _run(target, names, execute=False))
        _show_before(ready, wishes)
        work = [it for it in ready.progress.values() if it.phase == "waiting"]
        if work and not yes and not typer.confirm(f"Maintain {counted(len(work), 'node')}?", err=True):
            return
        began = time.monotonic()
        if work:
            _maintain(target, controller, hold, ready, wishes)
        _show_after(ready, time.monotonic() - began, as_json)
    if any(it.phase not in ("done", "nothing to do") for it in ready.progress.values()):
        raise SystemExit(1)


def _chosen(target: Target, selector: str) -> list[Node]:
    """Return the compute nodes that `--nodes` selects, in inventory order."""
    try:
        names = target.cluster.select(selector)
    except ValueError as error:
        raise UsageError(f"--nodes {error}") from None
    chosen = [node for node in target.nodes if node.name in names and node.has("compute")]
    if not chosen:
        raise UsageError(f"--nodes {selector!r} selects no compute node that gpupool manages")
    return chosen


def _seconds(wait: str | None) -> float | None:
    try:
        return None if wait is None else parse_duration(wait)
    except ValueError as error:
        raise UsageError(f"--wait {error}") from None


def _run(target: Target, names: Collection[str], *, execute: bool) -> "Report":
    return run(target, execute=execute, limit=",".join(names))


def _show_before(ready: "Prepared", wishes: "Wishes") -> None:
    """Print what is done where, and what labs may lack meanwhile."""
    for name, step in ready.progress.items():
        stderr.print(styled((name, "bold"), f": {step.phase}{f': {step.why}' if step.why else ''}"))
    if not any(it.phase == "waiting" for it in ready.progress.values()):
        return
    first = "the first node alone, then " if wishes.bounds.at_most > 1 else ""
    stderr.print(f"{first}{counted(wishes.bounds.at_most, 'node')} at a time; what each lab may lack meanwhile:")
    table = Table("Lab", "Owns", "May lack at once", box=None, header_style="bold", pad_edge=False)
    for share in ready.shares:
        if share.lab:
            table.add_row(share.account, f"{share.owned} {share.unit}", str(ready.lacking[share.account]))
    stderr.whole(table)


class _Told:
    """Prints what happens on each node once, with the time."""

    def __init__(self, progress: dict[str, "Progress"]) -> None:
        self._progress = progress
        self._last: dict[str, str] = {}

    def tell(self, name: str, what: str) -> None:
        if self._last.get(name) != what:
            self._last[name] = what
            style = _COLOURS.get(self._progress[name].phase if name in self._progress else "", "bold")
            stderr.print(styled(f"{time.strftime('%H:%M:%S')}  ", (name, style), f"  {what}"))

    def pause(self) -> None:
        from gpupool.upkeep.drain import LOOK_SECONDS

        if not stderr.is_terminal:
            time.sleep(LOOK_SECONDS)
            return
        waiting = [it.node.name for it in self._progress.values() if it.phase in ("draining", "rebooting")]
        done = sum(it.phase == "done" for it in self._progress.values())
        text = f"{done} of {counted(len(self._progress), 'node')} done; waiting for {', '.join(waiting)}"
        with stderr.status(styled(text)):
            time.sleep(LOOK_SECONDS)


def _maintain(target: Target, controller: "Controller", hold: "Hold", ready: "Prepared", wishes: "Wishes") -> None:
    from gpupool.upkeep.announce import announce
    from gpupool.upkeep.maintain import Maintenance

    told = _Told(ready.progress)
    maintenance = Maintenance(
        controller,
        hold,
        ready.progress,
        ready.shares,
        wishes,
        since=ready.since,
        apply=lambda names: _run(target, names, execute=True),
        tell=told.tell,
        pause=told.pause,
    )
    _warn(announce(controller, _message(ready, wishes)))
    try:
        maintenance.run(ready.started)
    except KeyboardInterrupt:
        _show_after(ready, 0, False)
        stderr.print(
            "stopped: nodes in progress stay drained and reserved; run the same command again to continue",
            style="yellow",
        )
        raise
    _warn(announce(controller, ""))


def _message(ready: "Prepared", wishes: "Wishes") -> str:
    names = ", ".join(name for name, it in ready.progress.items() if it.phase == "waiting")
    return (
        f"Maintenance since {time.strftime('%Y-%m-%d %H:%M', time.localtime(ready.since))}: {names}.\n"
        f"{counted(wishes.bounds.at_most, 'node')} at a time, without new jobs; running jobs are not ended. "
        "`sinfo -R` lists them."
    )


def _warn(failed: dict[str, str]) -> None:
    for name, why in failed.items():
        stderr.print(f"{name}: cannot change the message of the day: {why}", style="yellow")


def _show_after(ready: "Prepared", seconds: float, as_json: bool) -> None:
    """Print one line a node and a summary, or all of it as JSON."""
    progress = ready.progress
    if as_json:
        print_json({
            "ok": all(it.phase in ("done", "nothing to do") for it in progress.values()),
            "seconds": round(seconds, 3),
            "nodes": {name: {"phase": it.phase, "why": it.why, "changes": it.changes} for name, it in progress.items()},
            "labs": [
                {
                    "lab": share.account, "owns": share.owned, "unit": share.unit,
                    "may_lack": ready.lacking[share.account],
                }
                for share in ready.shares
                if share.lab
            ],
        })  # fmt: skip
        return
    for name, step in progress.items():
        if step.phase != "nothing to do":
            stdout.print(
                styled((name, _COLOURS.get(step.phase, "bold")), f": {step.phase}{f': {step.why}' if step.why else ''}")
            )
    counts = {
        phase: sum(it.phase == phase for it in progress.values()) for phase in (it.phase for it in progress.values())
    }
    summary = ", ".join(f"{count} {phase}" for phase, count in counts.items())
    bad = any(it.phase not in ("done", "nothing to do") for it in progress.values())
    stdout.print(f"{counted(len(progress), 'node')}: {summary}", style="bold red" if bad else "bold green")
