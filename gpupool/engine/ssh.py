"""pyinfra's SSH connector with strict host keys, short time limits for dead nodes, and all commands as root."""

import contextlib
import shlex
import socket
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from paramiko import SSHException, Transport
from pyinfra.api import StringCommand
from pyinfra.api.util import get_file_io
from pyinfra.connectors.base import DataMeta
from pyinfra.connectors.ssh import SSHConnector
from pyinfra.connectors.util import CommandOutput, OutputLine, make_unix_command_for_host, remove_any_sudo_askpass_file

from gpupool.engine import alive, channel
from gpupool.engine.greeting import PatientTransport
from gpupool.engine.lock import FirstAnswer, Lock, LockError, ask_clock_and_lock
from gpupool.engine.openssh import Client, Limits
from gpupool.remote.command import TooMuchError
from gpupool.shell import shell_file

ANSWER_SECONDS = 10  # for the TCP connection: a kernel answers at once, also on a busy node
# For sshd's greeting, and for the login: both take long on an overloaded node, or right after a boot.
GREETING_SECONDS = 30
LOGIN_SECONDS = 60
KEEPALIVE_SECONDS = 10
# After so long without a TCP acknowledgement, the connection counts as lost.
DEAD_AFTER_SECONDS = 40

LOST = "the connection was lost"

_PUT = shell_file(__package__, "put.sh")


class PoolSSH(SSHConnector):
    """gpupool's connector: it checks host keys by default, and the name of a host has no prefix."""

    data_meta: ClassVar[dict[str, DataMeta]] = {  # type: ignore[misc]  # pyinfra declares it without ClassVar
        **SSHConnector.data_meta,
        "ssh_strict_host_key_checking": DataMeta("SSH strict host key checking", "yes"),
    }

    lost = LOST  # why commands fail after the connection is lost
    tell: Callable[[str], None] | None = None  # receives a sentence about a wait for another program
    _lock: Lock | None = None

    @staticmethod
    def make_names_data(name: str) -> Iterator[tuple[str, dict[str, Any], list[str]]]:
        """Yield the host `n01` for the name `@pool/n01`."""
        yield name, {"ssh_hostname": name}, []

    def make_paramiko_kwargs(self) -> dict[str, Any]:
        """Return the arguments of paramiko's connect, with its limits for the greeting and the login."""
        own = {
            "banner_timeout": GREETING_SECONDS,
            "auth_timeout": LOGIN_SECONDS,
            "transport_factory": PatientTransport,
        }
        return {**own, **super().make_paramiko_kwargs()}

    def _connect(self) -> None:
        if command := self.host.data.get("ssh_command"):
            self.client = Client.of(command, Limits(ANSWER_SECONDS, GREETING_SECONDS, LOGIN_SECONDS))
        else:
            super()._connect()
        transport = self.client.get_transport() if self.client else None
        if transport is None:
            return
        transport.set_keepalive(KEEPALIVE_SECONDS)
        # With jumps, this is not a TCP socket.
        sock: Any = transport.sock
        with contextlib.suppress(AttributeError, OSError):
            # paramiko does not disable Nagle's algorithm: with delayed ACKs, each command would wait 40 ms.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_AFTER_SECONDS * 1000)

    def run_shell_command(
        self, command: StringCommand, print_output: bool = False, print_input: bool = False, **arguments: Any
    ) -> tuple[bool, CommandOutput]:
        """Run a command as root under sh; SSHException if the connection is lost or the node hangs.

        Bytes of the output that are not UTF-8 are replaced. TimeoutError after `_timeout` seconds.
        """
        limit, terminal = arguments.pop("_timeout", None), arguments.pop("_get_pty", False)
        data, good = _lines(arguments.pop("_stdin", None)), arguments.pop("_success_exit_codes", None) or [0]
        script = make_unix_command_for_host(self.state, self.host, command, **arguments).get_raw_value()
        answer = self._run(script, data, limit, terminal)
        reason = answer.refusal(self._user())
        err = answer.err.decode(errors="replace") if reason is None else reason
        texts = {"stdout": (answer.out or b"").decode(errors="replace"), "stderr": err}
        lines = [OutputLine(name, line) for name, text in texts.items() for line in _split(text)]
        return reason is None and answer.status in good, CommandOutput(lines)

    def _run(self, script: str, data: bytes, limit: float | None = None, terminal: bool = False) -> channel.Answer:
        transport = self._transport()
        if transport is None:
            raise SSHException(self.lost)
        try:
            with alive.watched(transport, self._hangs, self._locked):
                answer = channel.run(transport, self.host.data.get("environment", "") + script, data, limit, terminal)
        except TooMuchError as error:
            self.give_up(str(error))
            raise SSHException(self.lost) from None
        except (EOFError, OSError, SSHException) as error:
            # paramiko raises EOFError if the other side closes the connection.
            if self._alive():
                raise
            raise SSHException(self.lost) from error
        if answer.status and not self._alive():
            raise SSHException(self.lost)
        return answer

    def ask_clock_and_lock(self, lock: bool) -> FirstAnswer:
        """Ask the node for its clock and the owner of a running apply; with `lock`, lock it for this run.

        LockError if that is impossible, NotRootError if the user of the connection cannot become root.
        """
        transport = self._transport()
        if transport is None:
            raise LockError(self.lost)
        first_answer, self._lock = ask_clock_and_lock(transport, self._user(), lock, self._lock_is_gone)
        return first_answer

    def write_log(self, line: str) -> bool:
        """Append a line to the log of applies of a locked node; return False if it could not be sent."""
        return self._lock is not None and self._lock.write(line)

    def _lock_is_gone(self) -> None:
        if self._alive():
            self.give_up(f"{LOST}: the lock has expired, and another apply may be changing the node")

    def put_file(self, filename_or_io: Any, remote_filename: str, *_: Any, **__: Any) -> bool:
        """Write a file on the node as root, complete or not at all; OSError if it cannot be written.

        Its content is the standard input of a command: SFTP would write as the user of the connection.
        """
        with get_file_io(filename_or_io) as file:
            data = file.read()
        self._transfer(f"set -- {shlex.join([remote_filename, str(len(data))])}\n{_PUT}", data)
        return True

    def get_file(self, remote_filename: str, filename_or_io: Any, *_: Any, **__: Any) -> bool:
        """Read a file of the node as root; OSError if it cannot be read."""
        data = self._transfer(f"exec cat -- {shlex.quote(remote_filename)}", b"")
        with get_file_io(filename_or_io, "wb") as file:
            file.write(data)
        return True

    def _transfer(self, script: str, data: bytes) -> bytes:
        answer = self._run(script, data)
        if answer.status or answer.out is None:
            last = answer.err.decode(errors="replace").strip().splitlines()[-1:]
            raise OSError(answer.refusal(self._user()) or "".join(last) or f"exit status {answer.status}")
        return answer.out

    def _user(self) -> str:
        transport = self._transport()
        return (transport and transport.get_username()) or "the user"

    def _hangs(self) -> None:
        self.give_up(f"{LOST}: the node does not respond, no answer for {alive.PATIENCE_SECONDS:.0f} s")

    def _locked(self, holder: str) -> None:
        number, _, name = holder.partition(" ")
        text = f"dpkg is locked by {name} (process {number}): packages wait for it" if holder else "dpkg's lock is free"
        if self.tell:
            self.tell(text)

    def give_up(self, why: str) -> None:
        """Close the connection at once; its running commands fail with the message `why`."""
        self.lost = why
        if transport := self._transport():
            transport.close()

    def _transport(self) -> Transport | None:
        return self.client.get_transport() if self.client else None

    def _alive(self) -> bool:
        transport = self._transport()
        return transport is not None and transport.is_active()

    def disconnect(self) -> None:
        """Release the lock and close the socket, which pyinfra would leave to the garbage collector."""
        if self._lock:
            self._lock.release()
        if self._alive():
            remove_any_sudo_askpass_file(self.host)
        super().disconnect()
        if self.client:
            self.client.close()


def _lines(stdin: Any) -> bytes:
    """Return an operation's standard input as pyinfra would send it: each text ends with a newline."""
    if stdin is None:
        return b""
    texts = stdin.readlines() if hasattr(stdin, "readlines") else stdin if isinstance(stdin, list | tuple) else [stdin]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts).encode(errors="surrogateescape")


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
