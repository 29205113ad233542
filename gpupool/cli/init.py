"""`gpupool init`: a first inventory to fill in."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from gpupool.cli.screen import stdout
from gpupool.errors import InventoryError

START = Path(__file__).parent.parent / "start"


def command(
    folder: Annotated[Path, typer.Argument(help="A folder to make, such as my-site.", show_default=False)],
) -> None:
    """Write a small commented inventory that checks, renders and stands up as a testbed."""
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise InventoryError(f"{folder} is there already and not empty; name a new folder")
    shutil.copytree(START, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    stdout.print(f"{folder} is written; look into it, then: gpupool check {folder}")
