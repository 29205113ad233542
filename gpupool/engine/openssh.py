"""A connection to a node with OpenSSH's settings, so that the engine reaches the same nodes as `ssh NODE` does.

`ssh -G` prints the admin's settings for a node: address, port, user, keys, known hosts and jumps. `ssh -W` connects
through the jumps; paramiko then logs in to the node (docs/pyinfra.md gives the reason).
"""

import re
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from paramiko import HostKeys, SSHException
from paramiko import SSHClient as ParamikoClient
from pyinfra.connectors.ssh_util import load_key_with_certificate
from pyinfra.connectors.sshuserclient import SSHClient
from pyinfra.connectors.sshuserclient.client import StrictPolicy

from gpupool.engine.greeting import PatientTransport
from gpupool.errors import GpupoolError
from gpupool.remote import ssh_errors
from gpupool.remote.settings import Settings, read

JUMP_SECONDS = 30  # for all jumps together, in addition to the greeting
_CLOSE_SECONDS = 2.0


def settings(command: Sequence[str]) -> Settings:
    """Return OpenSSH's settings for the node of an `ssh` command; GpupoolError if `ssh` refuses the configuration."""
    done = subprocess.run([command[0], "-G", *command[1:]], capture_output=True, check=False)
    if done.returncode:
        raise GpupoolError(f"ssh: {ssh_errors.reason(done.stderr) or f'exit status {done.returncode}'}")
    return read(done.stdout)


@dataclass(frozen=True)
class Limits:
    """The most seconds of each step: the TCP connection, sshd's greeting and the exchange of keys, the login."""

    connect: float
    greeting: float
    login: float


class PortConnection:
    """A connection to the port of a node, through jumps if there are any."""

    def __init__(self, options: Settings, configuration: Sequence[str], seconds: float) -> None:
        """Connect; OSError if that fails. `configuration` is the option `-F` of `ssh`, and its file."""
        address, port = options["hostname"][0], options["port"][0]
        command = _jump(options, configuration, address, port)
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # close() does
        self.jumps = command is not None
        if command is None:
            self.socket = socket.create_connection((address, int(port)), timeout=seconds)
            return
        self.socket, inner = socket.socketpair()
        with inner:
            ends = inner.fileno()
            self._process = subprocess.Popen(command, stdin=ends, stdout=ends, stderr=self._errors)

    def failure(self) -> str:
        """Return why the connection through the jumps failed; "" if it did not, or if there are no jumps."""
        if self._process is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSE_SECONDS)
        self._errors.seek(0)
        return ssh_errors.reason(self._errors.read())

    def close(self) -> None:
        """Close the connection, and terminate the `ssh` process for the jumps."""
        self.socket.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
        self._errors.close()


class Client(SSHClient):
    """A client that is connected to a node by OpenSSH's settings."""

    connection: PortConnection | None = None

    @classmethod
    def of(cls, command: Sequence[str], limits: Limits) -> Self:
        """Return a connected client for the node of an `ssh` command; errors are those of paramiko and the socket."""
        options = settings(command)
        client = cls()
        client.connection = connection = PortConnection(options, command[1:3], limits.connect)
        client._host_keys = _known(options)
        client.set_missing_host_key_policy(StrictPolicy())
        try:
            client._log_in(options, limits.greeting + JUMP_SECONDS * connection.jumps, limits.login)
        except (SSHException, OSError, EOFError) as error:
            failure = connection.failure()
            client.close()
            if failure:
                raise SSHException(failure) from error
            raise
        return client

    def _log_in(self, options: Settings, greeting: float, login: float) -> None:
        assert self.connection
        alias = options.get("hostkeyalias")
        # an entry in known_hosts has the port (if it is not 22) with a host name, but never with an alias
        name, port = (alias[0], 22) if alias else (options["hostname"][0], int(options["port"][0]))
        files = [str(path) for value in options.get("identityfile", ()) if (path := _path(value)).is_file()]
        certificates = [str(_path(value)) for value in options.get("certificatefile", ())]
        key = load_key_with_certificate(files[0], certificates[0], allow_prompt=False) if certificates else None
        connect: Any = ParamikoClient.connect  # its type stub allows only one key file
        began = time.monotonic()
        try:
            connect(
                self,
                name,
                port,
                options["user"][0],
                pkey=key,
                key_filename=files,
                allow_agent=options.get("identityagent") != ["none"],
                look_for_keys=False,
                sock=self.connection.socket,
                timeout=greeting,
                banner_timeout=greeting,
                auth_timeout=login,
                transport_factory=PatientTransport,
            )
        except SSHException as error:
            # paramiko reports a login without an answer as a refusal, or as a lost session if there is another key
            greeted = (transport := self.get_transport()) is not None and transport.initial_kex_done
            if greeted and time.monotonic() - began >= login:
                message = f"the login took more than {login:g} s: the node is overloaded, or its sshd hangs"
                raise SSHException(message) from error
            raise

    def close(self) -> None:
        """Close the connection to the node, then the connections through the jumps."""
        super().close()
        if self.connection:
            self.connection.close()


def _jump(options: Settings, configuration: Sequence[str], address: str, port: str) -> list[str] | None:
    """Return the command that connects through the jumps; None if there are none."""
    if jumps := options.get("proxyjump"):
        *first, last = jumps[0].split(",")
        through = ["-J", ",".join(first)] if first else []
        return ["ssh", *configuration, *through, "-W", f"[{address}]:{port}", "--", _destination(last)]
    if (command := options.get("proxycommand", ["none"])[0]) == "none":
        return None
    tokens = {"%": "%", "h": address, "p": port, "r": options["user"][0], "n": options.get("host", [address])[0]}
    return ["/bin/sh", "-c", "exec " + re.sub("%([%hprn])", lambda match: tokens[match[1]], command)]


def _destination(jump: str) -> str:
    """Return `user@host:port` as a URI: ssh's command line accepts a port only in a URI."""
    return jump if jump.startswith("ssh://") else f"ssh://{jump}"


def _path(value: str) -> Path:
    return Path(value.strip('"').replace("%d", str(Path.home()))).expanduser()


def _known(options: Settings) -> HostKeys:
    names = [*options.get("userknownhostsfile", ()), *options.get("globalknownhostsfile", ())]
    files = [path for name in names for word in shlex.split(name) if (path := _path(word)).is_file()]
    return _loaded(tuple((path, path.stat().st_mtime_ns) for path in files))


@lru_cache(maxsize=8)
def _loaded(files: tuple[tuple[Path, int], ...]) -> HostKeys:
    keys = HostKeys()
    for path, _ in files:
        with suppress(OSError, SSHException):  # an unreadable file does not prevent the use of the others
            keys.load(str(path))
    return keys
