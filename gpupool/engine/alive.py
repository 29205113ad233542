"""Notice a node that stops answering while a command runs on it.

If the disk or memory of a machine hangs, its kernel still acknowledges TCP, so no keepalive fails; and some
commands take an hour, so no time limit helps. So the node regularly runs a small script on the same connection.
The script also names another program that has dpkg's lock: apt-get waits for that lock without an output.
"""

import contextlib
from collections.abc import Callable, Iterator

import gevent
import pyinfra
from gevent.event import Event
from paramiko import SSHException, Transport

from gpupool.remote.command import output_of, remote_command
from gpupool.shell import shell_file

EVERY_SECONDS = 15.0  # between two questions; a short command ends before the first
PATIENCE_SECONDS = 45.0  # a node under load may be slow to run even a small script

MOST_BYTES = 1 << 14  # of an answer, with the output of the login shell's start-up files


@contextlib.contextmanager
def watched(
    transport: Transport | None, hangs: Callable[[], None], locked: Callable[[str], None] = lambda _: None
) -> Iterator[None]:
    """Ask a node regularly while the code within runs.

    If the node does not answer, call `hangs` and stop asking. If a program that is not gpupool's takes dpkg's lock,
    call `locked` with its process ID and its name, such as "812 unattended-upgr"; when it has released it, with "".
    """
    if transport is None:
        yield
        return
    ended = Event()
    gevent.spawn(_ask, transport, ended, hangs, locked)
    try:
        yield
    finally:
        ended.set()


def _ask(transport: Transport, ended: Event, hangs: Callable[[], None], locked: Callable[[str], None]) -> None:
    """Ask until `ended` is set. A question in progress then runs to its end: paramiko may be sending."""
    before = ""
    while not ended.wait(EVERY_SECONDS) and transport.is_active():
        try:
            with gevent.Timeout(PATIENCE_SECONDS):
                holder = _holder(transport)
        except gevent.Timeout:
            if not ended.is_set():
                pyinfra.logger.warning("no answer for %s s", PATIENCE_SECONDS)
                hangs()
            return
        if holder != before and not ended.is_set():
            locked(holder)
        before = holder


def _holder(transport: Transport) -> str:
    """Return the process that has dpkg's lock, "" for none. A refusal ("too many sessions") counts as an answer."""
    with contextlib.suppress(SSHException, EOFError, OSError), transport.open_session() as channel:
        channel.exec_command(remote_command(shell_file(__package__, "dpkg_lock.sh")))
        output = b""
        while part := channel.recv(1 << 10):
            output = (output + part)[:MOST_BYTES]
        return (output_of(output) or b"").decode(errors="replace").strip()
    return ""
