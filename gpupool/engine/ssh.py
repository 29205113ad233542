"""SSH to nodes: pyinfra's own connector without its 40 ms a command, strict about host keys, quick about dead nodes."""

import contextlib
import socket
from collections.abc import Iterator
from typing import Any, ClassVar

from paramiko import SSHException, Transport
from pyinfra.api import StringCommand
from pyinfra.connectors.base import DataMeta
from pyinfra.connectors.ssh import SSHConnector
from pyinfra.connectors.util import CommandOutput, remove_any_sudo_askpass_file

from gpupool.engine import alive
from gpupool.engine.lock import Greeting, Lock, LockError, greet

ANSWER_SECONDS = 10  # for each of: TCP connect, SSH banner, authentication
KEEPALIVE_SECONDS = 10
# Data (or a keepalive) that nobody has acknowledged for this long means that the node is gone.
DEAD_AFTER_SECONDS = 40

LOST = "the connection was lost"


class PoolSSH(SSHConnector):
    """Host keys are checked strictly unless `ssh_strict_host_key_checking` says otherwise; names stay plain."""

    data_meta: ClassVar[dict[str, DataMeta]] = {  # type: ignore[misc]  # pyinfra declares it without ClassVar
        **SSHConnector.data_meta,
        "ssh_strict_host_key_checking": DataMeta("SSH strict host key checking", "yes"),
    }

    lost = LOST  # why commands fail once the connection is gone
    _lock: Lock | None = None

    @staticmethod
    def make_names_data(name: str) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """`@pool/n01` is the host `n01`."""
        yield name, {"ssh_hostname": name}, []

    def make_paramiko_kwargs(self) -> dict[str, Any]:
        """Paramiko's own defaults let a half-dead node hold everybody up for 45 s."""
        kwargs: dict[str, Any] = super().make_paramiko_kwargs()
        return {"banner_timeout": ANSWER_SECONDS, "auth_timeout": ANSWER_SECONDS, **kwargs}

    def _connect(self) -> None:
        super()._connect()
        transport = self.client.get_transport() if self.client else None
        if transport is None:
            return
        transport.set_keepalive(KEEPALIVE_SECONDS)
        # Behind a ProxyJump the socket is a paramiko channel, which has no options to set.
        sock: Any = transport.sock
        with contextlib.suppress(AttributeError, OSError):
            # paramiko leaves Nagle's algorithm on: against delayed ACKs each command then waits 40 ms.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_AFTER_SECONDS * 1000)

    def run_shell_command(
        self, command: StringCommand, print_output: bool = False, print_input: bool = False, **arguments: Any
    ) -> tuple[bool, CommandOutput]:
        """Run it; a connection that broke meanwhile raises SSHException instead of looking like a silent failure.

        A node that hangs counts as lost: its connection is closed.
        """
        try:
            with alive.watched(self._transport(), self._hangs):
                ok, output = super().run_shell_command(command, print_output, print_input, **arguments)
        except (EOFError, OSError, SSHException) as error:
            # EOFError is what paramiko raises when the other side hangs up; pyinfra does not expect it here.
            if self._alive():
                raise
            raise SSHException(self.lost) from error
        if not ok and not self._alive():
            raise SSHException(self.lost)
        return ok, output

    def greet(self, lock: bool) -> Greeting:
        """Ask the node for its clock and for who applies there, and lock it for this run (`lock`); or LockError."""
        transport = self._transport()
        if transport is None:
            raise LockError(self.lost)
        greeting, self._lock = greet(transport, lock, self._lock_is_gone)
        return greeting

    def write_log(self, line: str) -> bool:
        """Have a node that is locked append a line to its log of applies; False where it did not get it."""
        return self._lock is not None and self._lock.write(line)

    def _lock_is_gone(self) -> None:
        if self._alive():
            self.give_up(f"{LOST}: the lock has expired, and another apply may be changing the node")

    def put_file(self, *args: Any, **kwargs: Any) -> bool:
        """Upload; a node that hangs counts as lost."""
        with alive.watched(self._transport(), self._hangs):
            return super().put_file(*args, **kwargs)

    def get_file(self, *args: Any, **kwargs: Any) -> bool:
        """Download; a node that hangs counts as lost."""
        with alive.watched(self._transport(), self._hangs):
            return super().get_file(*args, **kwargs)

    def _hangs(self) -> None:
        self.give_up(f"{LOST}: the node does not respond, no answer for {alive.PATIENCE_SECONDS:.0f} s")

    def give_up(self, why: str) -> None:
        """Close the connection at once, whatever runs on it; `why` is what its commands then fail with."""
        self.lost = why
        if transport := self._transport():
            transport.close()

    def _transport(self) -> Transport | None:
        return self.client.get_transport() if self.client else None

    def _alive(self) -> bool:
        transport = self._transport()
        return transport is not None and transport.is_active()

    def disconnect(self) -> None:
        """Close for real: pyinfra leaves the socket to the garbage collector."""
        if self._lock:
            self._lock.release()
        if self._alive():
            remove_any_sudo_askpass_file(self.host)
        super().disconnect()
        if self.client:
            self.client.close()
