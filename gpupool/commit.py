"""The git commit of an inventory."""

import os
import subprocess
from pathlib import Path

_SECONDS = 20.0


def commit_of(inventory: Path) -> tuple[str, bool]:
    """Return the commit, and whether the folder has uncommitted changes; ("", False) without git."""
    commit = _git(inventory, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return "", False
    changed = _git(inventory, "status", "--porcelain", "--", ".")
    return commit, changed is None or bool(changed)


def _git(folder: Path, *arguments: str) -> str | None:
    """Return git's output, None if git fails; commands in the repository's configuration are not run."""
    command = ["git", "-C", str(folder), "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    settings = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            env=settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
