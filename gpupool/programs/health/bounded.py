"""A command that may hang in the kernel, where nothing ends it: it is left alone, and there is never a second one."""

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

_BUSY = 75  # what flock ends with when an earlier one still hangs


class Bounded:
    """A command that has been started. Its lock ends with it, however long the kernel keeps it."""

    def __init__(self, command: list[str], lock: Path) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - it is read when the command has ended
        self._process = subprocess.Popen(
            ["flock", "--nonblock", f"--conflict-exit-code={_BUSY}", str(lock), *command],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def code(self, end: float) -> int | None:
        """Return its exit code; None when it has none by `end` (as time.monotonic counts), or an earlier one hangs."""
        try:
            code = self._process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            return None
        return None if code == _BUSY else code

    def lines(self) -> list[str]:
        """Return what it has printed, without empty lines."""
        self._output.seek(0)
        return [line.strip() for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
