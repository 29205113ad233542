"""A command that may hang in the kernel, where no signal ends it. A lock prevents a second instance meanwhile."""

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

_BUSY = 75  # exit code of flock while an earlier instance still hangs


class Bounded:
    """A started command. Its lock is released only when it has ended, even if the kernel blocks it for long."""

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
        """Return its exit code; None if it still runs at `end` (of time.monotonic), or an earlier instance hangs."""
        try:
            code = self._process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            return None
        return None if code == _BUSY else code

    def lines(self) -> list[str]:
        """Return the lines of its output, without empty lines."""
        self._output.seek(0)
        return [line.strip() for line in self._output.read().decode(errors="replace").splitlines() if line.strip()]
