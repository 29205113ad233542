"""`gpupool adopt --steps`: what gpupool could take over next, and the price of each step."""

from pathlib import Path
from typing import TYPE_CHECKING

from gpupool.cli.screen import stdout
from gpupool.wording import counted

if TYPE_CHECKING:
    from gpupool.adopt.steps import Change, Step
    from gpupool.cluster.model import Cluster

_MOST = 60  # characters of a value


def show(inventory: Path) -> None:
    """Print the step of each group of `slurm.left`, then the roles that are not managed."""
    from gpupool.adopt.steps import steps

    cluster, next_steps = steps(inventory)
    for step in next_steps:
        _show(step)
    if next_steps:
        stdout.print(
            "\nTo take a step, remove its group from slurm.left and the keys that go with it; then `gpupool plan`."
        )
    else:
        stdout.print("slurm.left has no group: Slurm's files are gpupool's own", style="green")
    _show_roles(cluster)


def _show(step: "Step") -> None:
    from gpupool.adopt.causes import WHY

    price = _price(step)
    stdout.print(f"{step.group}: {WHY[step.group]}")
    stdout.print(f"  {price}", style="yellow" if step.refused or step.loses_jobs else None)
    for located in step.refused:
        stdout.print(f"  first: {'.'.join(map(str, located.complaint.path))}: {located.complaint.message}")
    for key in step.dropped:
        stdout.print(f"  without {key}")
    for change in step.changes:
        stdout.print(f"  {_line(change)}")


def _price(step: "Step") -> str:
    if step.refused:
        return f"not yet: check refuses it for {counted(len(step.refused), 'reason')}"
    if not step.changes:
        return "no value changes"
    effect = {"nothing": "no daemon acts", "reconfigure": "scontrol reconfigure"}.get(step.effect)
    effect = effect or f"restart of {', '.join(step.effect.split())}"
    jobs = "all jobs must end first" if step.loses_jobs else "jobs stay"
    return (
        f"{counted(len(step.changes), 'value')} {'changes' if len(step.changes) == 1 else 'change'}; {effect}; {jobs}"
    )


def _line(change: "Change") -> str:
    of = f" of {change.section} {change.of}" if change.of else ""
    return f"{change.key}{of}: {_shown(change.was)}, would be {_shown(change.would)}"


def _shown(value: str) -> str:
    """Return a value for a line; a key without a line has Slurm's default."""
    text = " ".join(value.split())
    return (text if len(text) <= _MOST else f"{text[:_MOST]}…") or "not set"


def _show_roles(cluster: "Cluster") -> None:
    from gpupool.cluster.schema.managed import ROLES

    managed = cluster.entry.manage
    if managed is not None:
        others = ", ".join(role for role in ROLES if role not in managed)
        stdout.print(
            f"\nmanage: {', '.join(managed)}. `gpupool plan` shows the price of each further role:", soft_wrap=False
        )
        stdout.print(f"  {others}")
