"""The inventory of a command line that names none: the current folder, or the variable GPUPOOL_INVENTORY."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gpupool.cli.screen import stderr
from gpupool.errors import UsageError

VARIABLE = "GPUPOOL_INVENTORY"
#: A folder with one of these files is an inventory.
FILES = ("cluster.yml", "inventory.yml")


def default_inventory() -> Path | None:
    """Return the current folder if it is an inventory, else the folder of the variable; None without both.

    UsageError if both are inventories, and not the same: the wrong choice could change another cluster.
    """
    here = any(Path(name).is_file() for name in FILES)
    named = os.environ.get(VARIABLE)
    if here and named and not _same(named):
        raise UsageError(
            f"{VARIABLE} is {named}, and the current folder is another inventory: name the inventory to use "
            "(. is the current folder)"
        )
    if here:
        return Path()
    return Path(named) if named else None


def completed(command: Any, ctx: Any, args: Sequence[str]) -> list[str]:
    """Return the arguments of a command, with the default inventory in front if they name no inventory.

    A first word that is a saved plan, or no file or folder and without a slash, is not the inventory if the rest then
    fits the command.
    UsageError if there is no inventory at all.
    """
    given, rest = _parsed(command, ctx, args)
    if "inventory" not in given or given.get("help"):
        return [*args]
    first = given["inventory"]
    if isinstance(first, str) and (rest or _is_inventory(first)):
        return [*args]
    default = default_inventory()
    if default is None:
        if isinstance(first, str):
            return [*args]
        raise UsageError(
            f"no inventory: name its folder, set {VARIABLE}, or run this in a folder with {' or '.join(FILES)}"
        )
    longer = [str(default), *args]
    if isinstance(first, str) and _parsed(command, ctx, longer)[1]:
        return [*args]
    if default != Path():
        stderr.print(f"inventory: {default} ({VARIABLE})", style="dim")
    return longer


def _parsed(command: Any, ctx: Any, args: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the words for each parameter, not yet converted, and the words that are too many."""
    given, rest, _ = command.make_parser(ctx).parse_args(args=[*args])
    return given, rest


def _is_inventory(word: str) -> bool:
    if Path(word).is_file():
        # imported here: most command lines name a folder
        from gpupool.run.saved_plan import is_saved_plan

        return not is_saved_plan(Path(word))
    return os.sep in word or Path(word).exists()


def _same(folder: str) -> bool:
    try:
        return Path(folder).samefile(Path())
    except OSError:
        return False
