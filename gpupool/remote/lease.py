"""A lock on a node that ends with the process that holds it.

The holder is one process on the node, `lock.sh`, which reads a beat from us now and then. It ends with its connection,
so kill -9 frees the lock at once; if the admin's machine has lost its network, the lock is free after LEASE_SECONDS
without a beat. The lock's file belongs to root, so that no user can hold it.
"""

import getpass
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from gpupool.errors import GpupoolError
from gpupool.remote.nodes import Nodes
from gpupool.shell import shell_file

BEAT_SECONDS = 15.0
LEASE_SECONDS = 120  # without a beat
WAIT_SECONDS = 10.0  # for a holder that has just ended or was killed: sshd may not have noticed yet
_END_SECONDS = 3.0

_SCRIPT = shell_file("gpupool.engine", "lock.sh")


@dataclass(frozen=True)
class Reply:
    """A line of `lock.sh` that tells who holds the lock: we, another one (`owner`), or nobody."""

    state: Literal["held", "busy", "free"]
    owner: str = ""


def command(act: Literal["lock", "look"], path: str, log: str = "") -> list[str]:
    """Return the words that hold the lock at a path on a node, or look at it; lines sent to it go to the log."""
    owner = f"{time.time():.0f} {whoami()}"
    return ["bash", "-c", _SCRIPT.strip(), "gpupool", act, path, owner, str(LEASE_SECONDS), str(WAIT_SECONDS), log]


def reply(line: str) -> Reply | None:
    """Return what a line of the session's output says about the lock; None for any other line."""
    mark, _, owner = line.strip().partition(" ")
    match mark:
        case "gpupool-held":
            return Reply("held")
        case "gpupool-busy":
            return Reply("busy", owner)
        case "gpupool-free":
            return Reply("free")
    return None


def owner_of(text: str, doing: str = "applying here") -> str:
    """Return `user@host has been applying here since 08:12`, from the text that a lock holds."""
    since, _, who = text.partition(" ")
    if not since.isdigit():
        return f"another one has been {doing}"
    then, now = time.localtime(int(since)), time.localtime()
    form = "%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M"
    return f"{who} has been {doing} since {time.strftime(form, then)}"


def whoami() -> str:
    """Return the user and the machine of this run, as other admins read them."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


class Lease:
    """A lock that this process has as long as its session lasts; made by `leased`."""

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
    """Hold the lock at a path on a node; GpupoolError that names the holder, if another run has it.

    `doing` is what holders of this lock do, such as "doing maintenance".
    """
    session = nodes.session(node, *command("lock", path))
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
    """Read the answer. ssh ends if the node becomes silent, so this does not wait forever."""
    answer = next((found for line in session.stdout or () if (found := reply(line))), None)
    if answer is None:
        raise GpupoolError(f"{node}: cannot hold the lock that keeps others from {doing}: no answer")
    if answer.state != "held":
        raise GpupoolError(
            f"{node}: {owner_of(answer.owner, doing)}; nothing was changed, try again after it has ended"
        )


def _beat(session: "subprocess.Popen[str]", over: threading.Event) -> None:
    while not over.wait(BEAT_SECONDS) and session.poll() is None:
        with suppress(OSError, ValueError):
            if session.stdin:
                session.stdin.write("\n")
                session.stdin.flush()
