"""`gpupool init`: a first inventory to fill in."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli.screen import stdout
from gpupool.errors import InventoryError

START = Path(__file__).parent.parent / "start"


def command(
    folder: Annotated[Path, typer.Argument(help="The folder to create, such as my-site.", show_default=False)],
) -> None:
    """Create a commented example inventory that passes `check` and can be started as a testbed."""
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise InventoryError(f"{folder} exists and is not empty; name a new folder")
    shutil.copytree(START, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    stdout.print(f"created {folder}; edit it, then run: gpupool check {folder}")
