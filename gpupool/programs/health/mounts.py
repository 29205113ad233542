"""Mounts: whether each exists and its server answers. A server that hangs holds one small process, never this one."""

import time
from pathlib import Path
from urllib.parse import quote

from .bounded import Bounded

PATIENCE = 10.0  # seconds that all of them have together
MOUNTINFO = Path("/proc/self/mountinfo")


def problems(paths: list[str], state: Path) -> list[str]:
    """Return what is wrong with the mounts at these paths; `state` is a directory for their locks."""
    # the file system itself is asked
    looks = {path: Bounded(["stat", "-f", "--", path], state / f"{quote(path, safe='')}.lock") for path in paths}
    end = time.monotonic() + PATIENCE
    codes = {path: look.code(end) for path, look in looks.items()}
    # only now: the look makes mounts that wait for one
    mounted = _mounted()
    wrong = []
    for path, code in codes.items():
        if code is None:
            wrong.append(f"{path} does not answer within {PATIENCE:.0f} s")
        elif path not in mounted:
            wrong.append(f"{path} is not mounted")
        elif code:
            wrong.append(f"{path} cannot be read")
    return wrong


def _mounted() -> set[str]:
    """Return where something is mounted; what only waits to be mounted is not."""
    rows = [line.split() for line in MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
    wrong = {row[4] for row in rows if row[row.index("-", 6) + 1] != "autofs"}
    return {_plain(path) for path in wrong}


def _plain(path: str) -> str:
    for sign in " \t\n\\":
        path = path.replace(f"\\{ord(sign):03o}", sign)
    return path
