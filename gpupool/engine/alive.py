"""Notice a node that stops answering while a command runs on it.

If the disk or memory of a machine hangs, its kernel still acknowledges TCP, so no keepalive fails; and some
commands take an hour, so no time limit helps. So the node regularly runs a small command on the same connection.
"""

import contextlib
from collections.abc import Callable, Iterator

import gevent
import pyinfra
from paramiko import SSHException, Transport

EVERY_SECONDS = 15.0  # between two questions; a short command ends before the first
PATIENCE_SECONDS = 45.0  # a node under load may be slow to run even `true`


@contextlib.contextmanager
def watched(transport: Transport | None, hangs: Callable[[], None]) -> Iterator[None]:
    """Ask a node regularly while the code within runs; if it does not answer, call `hangs` and stop asking."""
    if transport is None:
        yield
        return
    asking = gevent.spawn(_ask, transport, hangs)
    try:
        yield
    finally:
        asking.kill(block=False)


def _ask(transport: Transport, hangs: Callable[[], None]) -> None:
    while True:
        gevent.sleep(EVERY_SECONDS)
        if not transport.is_active():
            return
        try:
            with gevent.Timeout(PATIENCE_SECONDS):
                _answer(transport)
        except gevent.Timeout:
            pyinfra.logger.warning("no answer for %s s", PATIENCE_SECONDS)
            hangs()
            return


def _answer(transport: Transport) -> None:
    """Run `true` on the node; a refusal, such as "too many sessions", is an answer, too."""
    with contextlib.suppress(SSHException, EOFError, OSError), transport.open_session() as channel:
        channel.exec_command("true")
        channel.recv_exit_status()
