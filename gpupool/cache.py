"""The cache folder: `gpupool` in $XDG_CACHE_HOME, else in ~/.cache. It only makes later commands faster."""

import os
from pathlib import Path


def folder() -> Path:
    """Return the cache folder, and create it if it is missing. OSError if it cannot be created."""
    path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpupool"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def safe_folder(name: str) -> Path | None:
    """Return a cache folder for code, which only this user can write; None if there cannot be one."""
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
