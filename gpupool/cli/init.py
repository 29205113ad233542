"""`gpupool init`: create a first inventory."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from gpupool import repository as kit
from gpupool.cli import schema
from gpupool.cli.screen import stdout
from gpupool.errors import GpupoolError, UsageError

_PACKAGE = Path(__file__).parent.parent
# inventories of the package: a short one, and one with every key
SHORT, FULL = _PACKAGE / "start", _PACKAGE / "example"
# the example's reason to accept a warning is not a site's
_LEFT_OUT = {"__pycache__", "accepted.yml"}
SCHEMA = ".schema.json"  # the loader reads *.yml and *.yaml only


def command(
    folder: Annotated[
        Path, typer.Argument(help="The folder to create, such as my-site.", metavar="FOLDER", show_default=False)
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Write every key of the language, with comments, instead of a short start.")
    ] = False,
    repository: Annotated[
        bool,
        typer.Option(
            "--repository",
            help="Write a whole repository, with README and CI for GitHub and GitLab; the inventory is a folder of it.",
        ),
    ] = False,
) -> None:
    """Create an example inventory that passes `check` and can be started as a testbed.

    Changes: nothing but the new folder.

    Examples:
      gpupool init my-site
      gpupool init --full reference
      gpupool init --repository our-cluster
    """
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        raise UsageError(f"{folder} exists and is not empty; name a new folder")
    inventory = folder / kit.INVENTORY if repository else folder
    with _whole(folder):
        _copy(FULL if full else SHORT, inventory)
        _show_editors(inventory, schema.of_inventories())
        if (promises := inventory / "rehearsal").is_dir():
            _show_editors(promises, schema.of_promises())
        if repository:
            kit.write(folder)
    stdout.print(f"created {folder}; edit it, then run: gpupool check {inventory}")


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Remove all that the block wrote to a new or empty folder if it fails, so that the command can be run again.

    GpupoolError if a file cannot be written.
    """
    existed = folder.exists()
    try:
        yield
    except BaseException as error:
        for path in folder.iterdir() if existed else [folder]:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise GpupoolError(f"{folder}: {error.strerror}") from None
        raise


def _copy(source: Path, to: Path) -> None:
    to.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            _copy(path, to / path.name)
        else:
            (to / path.name).write_bytes(path.read_bytes())


def _show_editors(folder: Path, language: dict[str, Any]) -> None:
    """Write the JSON Schema of a folder's files into the folder, and refer to it in the first line of each file."""
    (folder / SCHEMA).write_text(json.dumps(language, indent=2) + "\n", encoding="utf-8")
    for file in folder.glob("*.yml"):
        text = file.read_text(encoding="utf-8")
        file.write_text(f"# yaml-language-server: $schema={SCHEMA}\n{text}", encoding="utf-8")
