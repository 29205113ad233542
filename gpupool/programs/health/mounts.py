"""Mounts: whether each exists and its server answers. A server that hangs holds one small process, never this one."""

import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

PATIENCE = 10.0  # seconds that all of them have together
_BUSY = 75  # what flock ends with when an earlier look still hangs
MOUNTINFO = Path("/proc/self/mountinfo")


def problems(paths: list[str], state: Path) -> list[str]:
    """Return what is wrong with the mounts at these paths; `state` is a directory for their locks."""
    looks = {path: _look(path, state / f"{quote(path, safe='')}.lock") for path in paths}
    end = time.monotonic() + PATIENCE
    codes = {path: _code(look, end) for path, look in looks.items()}
    # only now: the look makes mounts that wait for one
    mounted = _mounted()
    found = []
    for path, code in codes.items():
        if code is None or code == _BUSY:
            found.append(f"{path} does not answer within {PATIENCE:.0f} s")
        elif path not in mounted:
            found.append(f"{path} is not mounted")
        elif code:
            found.append(f"{path} cannot be read")
    return found


def _look(path: str, lock: Path) -> subprocess.Popen[bytes]:
    # the file system itself is asked; the lock ends with the process, however long the kernel keeps that
    command = ["flock", "--nonblock", f"--conflict-exit-code={_BUSY}", str(lock), "stat", "-f", "--", path]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True)


def _code(look: subprocess.Popen[bytes], end: float) -> int | None:
    """Return how a look ended; None, without waiting for it any longer, when it did not in time."""
    try:
        return look.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(look.pid, signal.SIGKILL)
        return None


def _mounted() -> set[str]:
    """Return where something is mounted; what only waits to be mounted is not."""
    rows = [line.split() for line in MOUNTINFO.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
    found = {row[4] for row in rows if row[row.index("-", 6) + 1] != "autofs"}
    return {_plain(path) for path in found}


def _plain(path: str) -> str:
    for sign in " \t\n\\":
        path = path.replace(f"\\{ord(sign):03o}", sign)
    return path
