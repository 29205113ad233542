"""One maintenance or upgrade at a time on a cluster: its lock is on a controller, and ends with its process."""

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpupool.engine.lock import BEAT_SECONDS, LEASE_SECONDS, WAIT_SECONDS, owner_of, whoami
from gpupool.errors import GpupoolError
from gpupool.remote.controller import Controller
from gpupool.shell import shell_file

PATH = "/run/gpupool-maintain.lock"
_SCRIPT = shell_file("gpupool.engine", "lock.sh")
_END_SECONDS = 3.0


class Hold:
    """A lock that this process has as long as its session lasts."""

    def __init__(self, session: subprocess.Popen[str], node: str) -> None:
        self._session = session
        self._node = node

    def ensure(self) -> None:
        """Raise GpupoolError when the lock is lost: another maintenance may have begun since."""
        if self._session.poll() is not None:
            raise GpupoolError(
                f"{self._node}: the connection that holds the lock is lost; run the same command again to continue"
            )


@contextmanager
def held(controller: Controller) -> Iterator[Hold]:
    """Hold the lock on the first controller that answers; GpupoolError with who has it, where another does.

    One lock for all work that takes nodes out of service a few at a time.
    """
    node = controller.first()
    arguments = ["lock", PATH, f"{time.time():.0f} {whoami()}", str(LEASE_SECONDS), f"{WAIT_SECONDS:.0f}"]
    session = controller.session(node, "bash", "-c", _SCRIPT.strip(), "gpupool", *arguments)
    over = threading.Event()
    try:
        _ensure_ours(session, node)
        threading.Thread(target=_beat, args=(session, over), daemon=True).start()
        yield Hold(session, node)
    finally:
        over.set()
        with suppress(OSError):
            if session.stdin:
                session.stdin.close()
        try:
            session.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            session.kill()


def _ensure_ours(session: subprocess.Popen[str], node: str) -> None:
    """Read the answer. ssh ends by itself when the node goes silent, so this does not wait forever."""
    for line in session.stdout or ():
        kind, _, text = line.strip().partition(" ")
        if kind == "gpupool-held":
            return
        if kind == "gpupool-busy":
            who = owner_of(text, "doing maintenance")
            raise GpupoolError(f"{node}: {who}; nothing was changed, try again after it has ended")
    raise GpupoolError(f"{node}: cannot lock the cluster for maintenance: no answer")


def _beat(session: subprocess.Popen[str], over: threading.Event) -> None:
    while not over.wait(BEAT_SECONDS) and session.poll() is None:
        with suppress(OSError, ValueError):
            if session.stdin:
                session.stdin.write("\n")
                session.stdin.flush()
