"""A process that holds a lock on a file, as apt-get holds dpkg's."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_HOLD = (
    "import fcntl, sys\nfile = open(sys.argv[1], 'w')\nfcntl.lockf(file, fcntl.LOCK_EX)\nprint(flush=True)\ninput()\n"
)


@contextmanager
def locked(path: Path, env: Mapping[str, str] | None = None) -> Iterator[int]:
    """Lock a file in another process with this environment while the block runs; yield the ID of the process."""
    command = [sys.executable, "-c", _HOLD, str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
    assert holder.stdout is not None
    holder.stdout.readline()
    try:
        yield holder.pid
    finally:
        with suppress(BrokenPipeError):  # it has ended
            holder.communicate(b"\n")
