"""The report of a rehearsal as files: index.html for readers, rehearsal.json for programs."""

import json
import os
from pathlib import Path

from gpupool import atomic
from gpupool.errors import GpupoolError
from gpupool.rehearsal.report.data import Rehearsed
from gpupool.rehearsal.report.page import page


def ensure_writable(folder: Path) -> None:
    """Raise GpupoolError if no report can be written to a folder, before the rehearsal starts; create nothing."""
    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise GpupoolError(f"--report {folder}: {existing} is a file, and must be a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise GpupoolError(f"--report {folder}: no permission to write to {existing}")


def write(folder: Path, rehearsed: Rehearsed) -> None:
    """Write both files atomically, the page last; other files in the folder stay."""
    folder.mkdir(parents=True, exist_ok=True)
    atomic.replace(folder / "rehearsal.json", json.dumps(rehearsed.as_dict(), indent=1, ensure_ascii=False) + "\n")
    atomic.replace(folder / "index.html", page(rehearsed))
