"""One apply at a time on a node: the lock lies there, and ends with whoever took it.

A session of its own holds it: `flock` on a file in /run, taken by one process that reads a beat from us now and then.
The session ends with the connection, so kill -9 gives the node back at once; a machine that vanished with its network
gives it back when it has been silent for a while. The file is root's alone, or any user could hold it.

The same session takes lines for the node's log of applies: no command more, and one writer at a time.
"""

import contextlib
import getpass
import os
import shlex
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

import gevent
from gevent.lock import BoundedSemaphore
from paramiko import Channel, SSHException, Transport

from gpupool.shell import shell_file
from gpupool.unix import APPLY_LOCK, APPLY_LOG

BEAT_SECONDS = 15.0
LEASE_SECONDS = 120  # of silence, after which the node is free again
WAIT_SECONDS = 10.0  # for one who has just ended, or was killed: sshd may not have noticed yet
_ANSWER_SECONDS = 30.0  # for the whole of it, after the waiting
_RELEASE_SECONDS = 3.0
_WRITE_SECONDS = 10.0

_SCRIPT = shell_file(__package__, "lock.sh")


class LockError(Exception):
    """A node can be locked by nobody, in words."""


@dataclass(frozen=True)
class Greeting:
    """What a node says first: how far its clock is ahead of ours, in seconds, and who applies there ("" for nobody)."""

    ahead: float
    busy: str = ""


class Lock:
    """A node's lock, held until it is released or the connection ends."""

    def __init__(self, channel: Channel, lost: Callable[[], None]) -> None:
        self._channel = channel
        self._released = False
        self._sending = BoundedSemaphore(1)  # a beat within a line would make two of it
        self._beating = gevent.spawn(self._beat, lost)

    def _beat(self, lost: Callable[[], None]) -> None:
        sent = True
        while sent:
            gevent.sleep(BEAT_SECONDS)
            try:
                sent = self._send(b"\n")
            except (OSError, EOFError, SSHException):
                sent = False
        if not self._released:
            lost()

    def _send(self, data: bytes) -> bool:
        with self._sending:
            while data:
                # not sendall: once the end was sent it tries for ever, and lets nothing else run (paramiko 4.0)
                if self._channel.exit_status_ready() or (count := self._channel.send(data)) <= 0:
                    return False
                data = data[count:]
        return True

    def write(self, line: str) -> bool:
        """Have the node append a line to its log of applies; False where it did not get it."""
        with contextlib.suppress(OSError, EOFError, SSHException), gevent.Timeout(_WRITE_SECONDS, False):
            return self._send(f"{line}\n".encode())
        return False

    def release(self) -> None:
        """Release the lock, and wait until it is released: the next run may begin at once."""
        self._released = True
        self._beating.kill(block=False)
        with contextlib.suppress(OSError, EOFError, SSHException), gevent.Timeout(_RELEASE_SECONDS, False):
            self._channel.shutdown_write()
            self._channel.recv_exit_status()
            self._channel.close()


def greet(transport: Transport, lock: bool, lost: Callable[[], None]) -> tuple[Greeting, Lock | None]:
    """Ask a node for its clock and for who applies there; with `lock`, lock it unless somebody does.

    `lost` is called when a lock that was held is gone. LockError when the node gives no answer to that.
    """
    act = "lock" if lock else "look"
    arguments = [act, APPLY_LOCK, f"{time.time():.0f} {whoami()}", str(LEASE_SECONDS), str(WAIT_SECONDS), APPLY_LOG]
    began = time.time()
    try:
        with gevent.Timeout(WAIT_SECONDS + _ANSWER_SECONDS):
            channel = transport.open_session()
            channel.exec_command(shlex.join(["bash", "-c", _SCRIPT.strip(), "gpupool", *arguments]))
            ahead, answer = _read(channel, began)
    except gevent.Timeout:
        raise LockError("no answer") from None
    except (OSError, EOFError, SSHException) as error:
        raise LockError(str(error) or "the connection was lost") from error
    if answer == "gpupool-held":
        return Greeting(ahead), Lock(channel, lost)
    channel.close()
    kind, _, owner = answer.partition(" ")
    return Greeting(ahead, owner_of(owner) if kind == "gpupool-busy" else ""), None


def _read(channel: Channel, began: float) -> tuple[float, str]:
    """Return how far the node is ahead and its last word; what a shell's own start-up files say is passed over."""
    ahead = 0.0
    for line in channel.makefile("r"):
        mark, _, value = line.strip().partition(" ")
        if mark == "gpupool-clock":
            # it was read at some moment between our question and now
            ahead = float(value) - (began + time.time()) / 2
        elif mark.startswith("gpupool-"):
            return ahead, line.strip()
    answer = channel.makefile_stderr("r").read().strip().splitlines()
    raise LockError(answer[-1] if answer else "no answer")


def owner_of(text: str, doing: str = "applying here") -> str:
    """Return `user@host has been applying here since 08:12` of what a lock holds."""
    since, _, who = text.partition(" ")
    if not since.isdigit():
        return f"another one has been {doing}"
    then, now = time.localtime(int(since)), time.localtime()
    form = "%H:%M" if then[:3] == now[:3] else "%Y-%m-%d %H:%M"
    return f"{who} has been {doing} since {time.strftime(form, then)}"


def whoami() -> str:
    """Return the person and the machine that this run belongs to, as others shall read it."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"
