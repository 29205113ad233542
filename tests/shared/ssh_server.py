"""A small SSH server in this process, which runs the commands here and can be made to hang."""

import base64
import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_FAILED_CONNECT_FAILED, OPEN_SUCCEEDED

LOCAL = "127.0.0.1"


def new_key(path: Path) -> paramiko.Ed25519Key:
    """Create a key, and write its private half to a path."""
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    path.touch(mode=0o600)  # OpenSSH refuses a key that others can read
    path.write_bytes(pem)
    return paramiko.Ed25519Key.from_private_key_file(str(path))


def script_of(command: str) -> str:
    """Return the script in a command line of gpupool.remote.command; return any other command line unchanged."""
    split = shlex.split(command)
    return base64.b64decode(split[-1]).decode() if split[:3:2] == ["exec", "-c"] else command


@dataclass
class Server:
    """A node: its address, pyinfra's data to log in, and the commands it was asked to run."""

    port: int
    data: dict[str, Any]
    asked: Path  # the commands, one a line
    hangs: bool = False  # if set, the kernel still answers, but no program does
    waits: float = 0  # seconds before SSH's greeting
    considers: float = 0  # seconds before a login is answered
    before: str = ""  # shell commands before each command
    user: str = "root"  # the only user who may log in
    forced: str | None = None  # the only command that the key may run, as `command=` in authorized_keys has it
    # destinations of connections for which it was the jump host
    forwarded: list[tuple[str, int]] = field(default_factory=list)
    awake: threading.Event = field(default_factory=threading.Event)
    transports: list[paramiko.Transport] = field(default_factory=list)
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)


class Session(paramiko.ServerInterface):
    """A session that admits one key and runs commands; "hang up", "freeze" and "fail" are acted out instead."""

    def __init__(self, node: Server, transport: paramiko.Transport, key: paramiko.PKey) -> None:
        self._node = node
        self._transport = transport
        self._key = key

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        time.sleep(self._node.considers)
        return AUTH_SUCCESSFUL if key == self._key and username == self._node.user else AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if self._node.hangs:  # called by the thread that would answer everything else
            self._node.awake.wait()
        return OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(
        self, chanid: int, origin: tuple[str, int], destination: tuple[str, int]
    ) -> int:
        """Act as a jump host, which `ssh -W` asks for."""
        try:
            beyond = socket.create_connection(destination)
        except OSError:
            return OPEN_FAILED_CONNECT_FAILED
        self._node.forwarded.append(destination)
        threading.Thread(target=self._forward, args=(beyond,), daemon=True).start()
        return OPEN_SUCCEEDED

    def _forward(self, beyond: socket.socket) -> None:
        # this is the right channel, because the tests' clients open one for each connection through a jump host
        channel = self._transport.accept()
        if channel is None:
            return

        def back() -> None:
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                while data := beyond.recv(4096):
                    channel.sendall(data)
                channel.close()

        threading.Thread(target=back, daemon=True).start()
        with contextlib.suppress(OSError), beyond:
            while data := channel.recv(4096):
                beyond.sendall(data)

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        """Run the forced command; without one there is no shell."""
        return self._node.forced is not None and self.check_channel_exec_request(channel, b"")

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        script = script_of(command.decode()) if self._node.forced is None else self._node.forced
        threading.Thread(target=self._exec, args=(channel, script), daemon=True).start()
        return True

    def _exec(self, channel: paramiko.Channel, command: str) -> None:
        with self._node.asked.open("a") as asked:
            asked.write(f"{command}\n")
        if "hang up" in command:
            self._transport.close()
        elif "freeze" in command:
            self._node.hangs = True
            return
        elif re.search(r"\bfail\b", command):
            channel.sendall_stderr(b"first\nwhy it failed\n")
            channel.send_exit_status(3)
        else:
            # a node has its own /run, log and clock
            own = command.replace("/run/gpupool", f"{self._node.asked.parent}/gpupool")
            own = own.replace("/var/log/gpupool", f"{self._node.asked.parent}/log")
            self._run(channel, f"{self._node.before}{own}")
        with contextlib.suppress(EOFError):  # the client may have left
            channel.close()

    def _run(self, channel: paramiko.Channel, command: str) -> None:
        process = subprocess.Popen(
            ["sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._node.processes.append(process)
        assert process.stdin
        assert process.stdout
        assert process.stderr

        def give() -> None:
            with contextlib.suppress(OSError):
                while data := channel.recv(4096):
                    process.stdin.write(data)  # type: ignore[union-attr]
                    process.stdin.flush()  # type: ignore[union-attr]
            with contextlib.suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]

        def complain() -> None:
            with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
                while data := process.stderr.read1():  # type: ignore[union-attr]
                    channel.sendall_stderr(data)

        complaining = threading.Thread(target=complain, daemon=True)
        threading.Thread(target=give, daemon=True).start()
        complaining.start()
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):  # the client may have left
            while data := process.stdout.read1():  # type: ignore[attr-defined]
                channel.sendall(data)
            complaining.join()
            code = process.wait()
            # the code of a killed process, as shells report it
            channel.send_exit_status(code if code >= 0 else 128 - code)


@contextlib.contextmanager
def serving(folder: Path, user: str = "root") -> Iterator[Server]:
    """Run a node that accepts our key, and yield data with the node's host key; its files are in a folder."""
    folder.mkdir(exist_ok=True)
    host_key, login = new_key(folder / "host"), new_key(folder / "login")
    listener = socket.create_server((LOCAL, 0))
    port = listener.getsockname()[1]
    known = folder / "known_hosts"
    known.write_text(f"[{LOCAL}]:{port} {host_key.get_name()} {host_key.get_base64()}\n")
    data = {
        "ssh_hostname": LOCAL,
        "ssh_port": port,
        "ssh_user": user,
        "ssh_key": str(folder / "login"),
        "ssh_known_hosts_file": str(known),
    }
    node = Server(port, data, folder / "asked", user=user)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                transport = paramiko.Transport(listener.accept()[0])
                transport.add_server_key(host_key)
                time.sleep(node.waits)
                node.transports.append(transport)
                with contextlib.suppress(EOFError, paramiko.SSHException):
                    transport.start_server(server=Session(node, transport, login), event=threading.Event())

    server = threading.Thread(target=serve, daemon=True)
    server.start()
    try:
        yield node
    finally:
        node.awake.set()
        # only this ends an accept that waits; later, it would accept connections of another test that has its number
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        server.join()
        listener.close()
        for process in node.processes:
            if process.poll() is None:
                # the process may have ended meanwhile, and its thread may have waited for it
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
