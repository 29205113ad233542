"""A lock on a node that this process holds with a session of OpenSSH."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpupool.errors import GpupoolError
from gpupool.remote import lock
from gpupool.remote.nodes import Nodes

_END_SECONDS = 3.0


class Lease:
    """A lock that this process holds until its session ends; made by `leased`."""

    def __init__(self, session: "subprocess.Popen[str]", node: str) -> None:
        self._session = session
        self._node = node

    def ensure(self) -> None:
        """Raise GpupoolError if the lock is lost: another run may have begun since."""
        if self._session.poll() is not None:
            raise GpupoolError(
                f"{self._node}: the connection that holds the lock is lost; run the same command again to continue"
            )


@contextmanager
def leased(nodes: Nodes, node: str, path: str, doing: str) -> Iterator[Lease]:
    """Hold the lock at a path on a node; GpupoolError with the holder's name if another run has it.

    `doing` describes the holder's work in messages, such as "doing maintenance".
    """
    session = nodes.session(node, *lock.command("lock", path))
    over = threading.Event()
    try:
        _ensure_held(session, node, doing)
        threading.Thread(target=_beat, args=(session, over), daemon=True).start()
        yield Lease(session, node)
    finally:
        over.set()
        with suppress(OSError):
            if session.stdin:
                session.stdin.close()
        try:
            session.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            session.kill()
            session.wait()


def _ensure_held(session: "subprocess.Popen[str]", node: str, doing: str) -> None:
    """Raise GpupoolError unless the session holds the lock. ssh ends if the node does not answer, so the wait ends."""
    answer = next((found for line in session.stdout or () if (found := lock.reply(line))), None)
    if answer is None:
        raise GpupoolError(f"{node}: cannot hold the lock that keeps others from {doing}: no answer")
    if answer.state != "held":
        raise GpupoolError(
            f"{node}: {lock.owner_of(answer.owner, doing)}; nothing was changed, try again after it has ended"
        )


def _beat(session: "subprocess.Popen[str]", over: threading.Event) -> None:
    while not over.wait(lock.BEAT_SECONDS) and session.poll() is None:
        with suppress(OSError, ValueError):
            if session.stdin:
                session.stdin.write("\n")
                session.stdin.flush()
