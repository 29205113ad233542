"""Shared parts of `onboard` and `retire`: show the changes of the inventory, ask, and list changes of other nodes."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gpupool.cli.screen import ensure_confirmable, stderr, stdout
from gpupool.errors import GpupoolError
from gpupool.run.runner import DeployRunner
from gpupool.target import target_of
from gpupool.wording import counted

if TYPE_CHECKING:
    from gpupool.cluster.edit.files import Draft
    from gpupool.joining.written import Original


def runner_and_original(
    inventory: Path, on: str, command: str, *, verbose: bool = False
) -> "tuple[DeployRunner, Original]":
    """Load an inventory, print its target, and return its `DeployRunner` and the text of the inventory, for edits."""
    from gpupool.joining.written import read_original

    original = read_original(inventory)
    runner = DeployRunner(target_of(original.cluster, inventory, on), command, stderr, verbose)
    return runner.announced(), original


def show_draft(draft: "Draft") -> None:
    """Print the changes of the inventory as diffs."""
    for file, text in draft.changed.items():
        old = draft.before[file].splitlines()
        for line in difflib.unified_diff(old, text.splitlines(), str(file), str(file), n=1, lineterm=""):
            stderr.print(line, style={"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim"))


def confirm(question: str, yes: bool) -> None:
    """Ask for confirmation unless `--yes` is given; GpupoolError if the user does not agree."""
    ensure_confirmable(yes, "this changes nodes")
    if not yes and not typer.confirm(question, err=True):
        raise GpupoolError("nothing was changed")


def show_rest(commands: Mapping[str, int], later: Mapping[str, int]) -> None:
    """Print the number of commands for each node, and the files that the next apply changes on other nodes."""
    counts = ", ".join(f"{name} {count}" for name, count in commands.items())
    stdout.print(f"commands: {counts}; none to other nodes", style="dim")
    if later:
        files = ", ".join(f"{path} on {counted(count, 'node')}" for path, count in later.items())
        stdout.print(f"the next `gpupool apply` also changes {files}", style="dim")
