"""Check that each mount exists and its server answers. A hanging server blocks one small child process only."""

import time
from pathlib import Path
from urllib.parse import quote

from .bounded import Bounded

PATIENCE = 10.0  # time limit in seconds for all mounts together
MOUNTINFO = Path("/proc/self/mountinfo")


def problems(paths: list[str], state: Path) -> list[str]:
    """Return the faults of the mounts at these paths; `state` is a directory for their locks."""
    # `stat -f` asks the server; a plain stat may be answered from a cache
    looks = {path: Bounded(["stat", "-f", "--", path], state / f"{quote(path, safe='')}.lock") for path in paths}
    end = time.monotonic() + PATIENCE
    codes = {path: look.code(end) for path, look in looks.items()}
    # read now: `stat` has triggered the automounts
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
    """Return the paths of all mounts, except automounts that are not mounted yet."""
    rows = [line.split() for line in MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
    paths = {row[4] for row in rows if row[row.index("-", 6) + 1] != "autofs"}
    return {_unescaped(path) for path in paths}


def _unescaped(path: str) -> str:
    for sign in " \t\n\\":
        path = path.replace(f"\\{ord(sign):03o}", sign)
    return path
