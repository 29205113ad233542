"""The folder of what only makes later commands quicker: `gpupool` in $XDG_CACHE_HOME, else in ~/.cache."""

import os
from pathlib import Path


def folder() -> Path:
    """Return the folder, created where it is missing. OSError where it cannot be created."""
    path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpupool"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def safe_folder(name: str) -> Path | None:
    """Return a folder of it for code, which only this user can have written; None where there can be none."""
    try:
        path = folder() / name
        path.mkdir(mode=0o700, exist_ok=True)
        for place in (path.parent, path):
            state = place.lstat()
            if state.st_uid != os.geteuid() or state.st_mode & 0o022:
                return None
    except (OSError, RuntimeError):  # RuntimeError: this user has no home
        return None
    return path
