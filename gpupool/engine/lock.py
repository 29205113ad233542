"""The lock of a node, held by a channel of the engine's connection: one apply at a time.

The process that holds the lock also appends lines to the node's log of applies, so that the log has one writer and
needs no further command.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import gevent
from gevent.lock import BoundedSemaphore
from paramiko import Channel, SSHException, Transport

from gpupool.engine.channel import send
from gpupool.remote import lock as remote
from gpupool.remote.command import refusal, remote_command
from gpupool.unix import APPLY_LOCK, APPLY_LOG

_ANSWER_SECONDS = 30.0  # for the answer, after lock.WAIT_SECONDS
_RELEASE_SECONDS = 3.0
_WRITE_SECONDS = 10.0
_MOST_BYTES = 65536  # of the first answer of a node
_CLOCK = re.compile(r"gpupool-clock (\d{1,12}(?:\.\d+)?)")


class LockError(Exception):
    """A node cannot be locked; the message is the reason."""


class NotRootError(Exception):
    """The user of the connection cannot become root on a node; the message is the reason."""


@dataclass(frozen=True)
class FirstAnswer:
    """The first answer of a node: how many seconds its clock is ahead, and the owner of a running apply, if any."""

    ahead: float
    busy: str = ""


class Lock:
    """A node's lock, held until it is released or the connection ends."""

    def __init__(self, channel: Channel, lost: Callable[[], None]) -> None:
        self._channel = channel
        self._released = False
        self._sending = BoundedSemaphore(1)  # without it, a beat could split a line
        self._beating = gevent.spawn(self._beat, lost)

    def _beat(self, lost: Callable[[], None]) -> None:
        sent = True
        while sent:
            gevent.sleep(remote.BEAT_SECONDS)
            try:
                sent = self._send(b"\n")
            except (OSError, EOFError, SSHException):
                sent = False
        if not self._released:
            lost()

    def _send(self, data: bytes) -> bool:
        with self._sending:
            return send(self._channel, data)

    def write(self, line: str) -> bool:
        """Append a line to the node's log of applies; return False if it could not be sent."""
        with contextlib.suppress(OSError, EOFError, SSHException), gevent.Timeout(_WRITE_SECONDS, False):
            return self._send(f"{line}\n".encode())
        return False

    def release(self) -> None:
        """Release the lock and wait until the node has done so, because the next run may begin at once."""
        self._released = True
        self._beating.kill(block=False)
        with contextlib.suppress(OSError, EOFError, SSHException), gevent.Timeout(_RELEASE_SECONDS, False):
            self._channel.shutdown_write()
            self._channel.recv_exit_status()
            self._channel.close()


def ask_clock_and_lock(
    transport: Transport, user: str, lock: bool, lost: Callable[[], None]
) -> tuple[FirstAnswer, Lock | None]:
    """Ask a node for its clock and the owner of a running apply; with `lock`, lock it unless another run has it.

    `lost` is called if the lock is lost later. NotRootError if `user` cannot become root; LockError if there is no
    answer.
    """
    words = remote.command("lock" if lock else "look", APPLY_LOCK, APPLY_LOG)
    began = time.time()
    try:
        with gevent.Timeout(remote.WAIT_SECONDS + _ANSWER_SECONDS):
            channel = transport.open_session()
            channel.exec_command(remote_command(words))
            ahead, answer = _read(channel, user, began)
    except gevent.Timeout:
        raise LockError("no answer") from None
    except (OSError, EOFError, SSHException) as error:
        raise LockError(str(error) or "the connection was lost") from error
    if answer.state == "held":
        return FirstAnswer(ahead), Lock(channel, lost)
    channel.close()
    return FirstAnswer(ahead, remote.owner_of(answer.owner) if answer.state == "busy" else ""), None


def _read(channel: Channel, user: str, began: float) -> tuple[float, remote.Reply]:
    """Return how many seconds the clock is ahead, and the answer about the lock; other lines are skipped."""
    ahead = 0.0
    for text in _lines(channel):
        if clock := _CLOCK.fullmatch(text):
            # the node read its clock between the question and now
            ahead = float(clock[1]) - (began + time.time()) / 2
        elif reply := remote.reply(text):
            return ahead, reply
    errors = channel.makefile_stderr("rb").read(_MOST_BYTES).decode(errors="replace").strip().splitlines()
    if reason := refusal(channel.recv_exit_status(), user):
        raise NotRootError(reason)
    raise LockError(errors[-1] if errors else "no answer")


def _lines(channel: Channel) -> Iterator[str]:
    """Yield the lines of the first `_MOST_BYTES`: a node that is taken over may send others without end."""
    file = channel.makefile("rb")
    left = _MOST_BYTES
    while left > 0 and (line := file.readline(left)):
        left -= len(line)
        yield line.decode(errors="replace").strip()
