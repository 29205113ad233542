"""Whether a node still answers while a command runs on it.

A machine whose disk or memory hangs goes on acknowledging TCP, in its kernel, for ever; no keepalive notices. And a
command may rightly take an hour. So now and then the node is asked for something small on the same connection.
"""

import contextlib
from collections.abc import Callable, Iterator

import gevent
import pyinfra
from paramiko import SSHException, Transport

EVERY_SECONDS = 15.0  # between two questions, the first of which short commands never live to see
PATIENCE_SECONDS = 45.0  # a node under load may take its time for `true`


@contextlib.contextmanager
def watched(transport: Transport | None, hangs: Callable[[], None]) -> Iterator[None]:
    """Ask a node again and again while the code within runs; once it gives no answer, call `hangs` and stop."""
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
    """Have the node start the smallest of programs; a refusal (of too many sessions, say) is an answer as well."""
    with contextlib.suppress(SSHException, EOFError, OSError), transport.open_session() as channel:
        channel.exec_command("true")
        channel.recv_exit_status()
