"""Run one command on an open SSH connection: bytes in, bytes out, and its exit status."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

import gevent
from paramiko import Channel, Transport

from gpupool.remote import command

_BLOCK = 65536


@dataclass(frozen=True)
class Answer:
    """The result of a command: its exit status and its output.

    `out` is None if the command was not started, because the user cannot become root or has no shell.
    """

    status: int
    out: bytes | None
    err: bytes

    def refusal(self, user: str) -> str | None:
        """Return why the command of `user` was not started; None if it was."""
        if self.out is not None:
            return None
        last = self.err.decode(errors="replace").strip().splitlines()[-1:]
        shell = f"the login shell of {user} does not run commands (exit status {self.status})"
        return command.refusal(self.status, user) or "".join(last) or shell


def run(
    transport: Transport, script: str, data: bytes = b"", seconds: float | None = None, terminal: bool = False
) -> Answer:
    """Run a script of sh as root with `data` as its standard input.

    TimeoutError after `seconds`; TooMuchError if its output is too long; SSHException, EOFError or OSError if the
    connection is lost.
    """
    channel = transport.open_session()
    readers = []
    limit = gevent.Timeout(seconds)
    try:
        with limit:
            if terminal:
                channel.get_pty()
            channel.exec_command(command.remote_command(script))
            readers = [gevent.spawn(_read, receive) for receive in (channel.recv, channel.recv_stderr)]
            with contextlib.suppress(OSError):  # a command may end before it has read all data
                send(channel, data)
                channel.shutdown_write()
            gevent.joinall(readers, raise_error=True)
            status = channel.recv_exit_status()
    except gevent.Timeout as timeout:
        if timeout is not limit:
            raise
        raise TimeoutError from None
    finally:
        gevent.killall(readers, block=False)
        channel.close()
    out, err = (reader.get() for reader in readers)
    return Answer(status, command.output_of(out), err)


def send(channel: Channel, data: bytes) -> bool:
    """Send all of `data`; return False if the command ends before it has received them."""
    while data:
        # not sendall: after the end of input it loops forever and lets no other greenlet run (paramiko 4.0)
        if channel.exit_status_ready() or (count := channel.send(data[:_BLOCK])) <= 0:
            return False
        data = data[count:]
    return True


def _read(receive: Callable[[int], bytes]) -> bytes:
    blocks = []
    received = 0
    while block := receive(_BLOCK):
        received += len(block)
        if received > command.MOST_BYTES:
            raise command.TooMuchError
        blocks.append(block)
    return b"".join(blocks)
