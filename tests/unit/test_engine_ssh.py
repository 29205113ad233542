"""Our SSH connector against a small SSH server in this process, which runs commands here."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import paramiko
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_SUCCEEDED
from pyinfra import host
from pyinfra.operations import files, server

from gpupool.engine.drive import Target, run
from gpupool.engine.ssh import PoolSSH

LOCAL = "127.0.0.1"


def new_key(path: Path) -> paramiko.Ed25519Key:
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    path.write_bytes(pem)
    return paramiko.Ed25519Key.from_private_key_file(str(path))


class Session(paramiko.ServerInterface):
    """Lets one key in and runs commands."""

    def __init__(self, transport: paramiko.Transport, key: paramiko.PKey) -> None:
        self._transport = transport
        self._key = key

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return AUTH_SUCCESSFUL if key == self._key else AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._exec, args=(channel, command.decode()), daemon=True).start()
        return True

    def _exec(self, channel: paramiko.Channel, command: str) -> None:
        if "hang up" in command:
            self._transport.close()
        elif "fail" in command:
            channel.sendall_stderr(b"first\nwhy it failed\n")
            channel.send_exit_status(3)
        else:
            channel.sendall(b"answer\n")
            channel.send_exit_status(0)
        channel.close()


@dataclass
class Server:
    port: int
    data: dict[str, Any]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Server]:
    """A node that knows our key, and data that knows the node's."""
    host_key, login = new_key(tmp_path / "host"), new_key(tmp_path / "login")
    listener = socket.create_server((LOCAL, 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                transport = paramiko.Transport(listener.accept()[0])
                transport.add_server_key(host_key)
                with contextlib.suppress(EOFError, paramiko.SSHException):
                    transport.start_server(server=Session(transport, login), event=threading.Event())

    threading.Thread(target=serve, daemon=True).start()
    known = tmp_path / "known_hosts"
    known.write_text(f"[{LOCAL}]:{port} {host_key.get_name()} {host_key.get_base64()}\n")
    yield Server(
        port,
        {
            "ssh_hostname": LOCAL,
            "ssh_port": port,
            "ssh_user": "root",
            "ssh_key": str(tmp_path / "login"),
            "ssh_known_hosts_file": str(known),
        },
    )
    listener.close()


def work() -> None:
    server.shell(name="work", commands=[host.data.get("command", "true")])


def failure(node: Server, **data: Any) -> str | None:
    return run([Target("n1", (), {**node.data, **data})], work, execute=True).hosts["n1"].failure


def test_commands_run_without_waiting_for_acknowledgements(node: Server) -> None:
    options: list[int] = []

    def deploy() -> None:
        connector: Any = host.connector
        sock = connector.client.get_transport().sock
        options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
        work()

    report = run([Target("n1", (), node.data)], deploy, execute=True)
    assert report.failures == {}
    assert report.hosts["n1"].commands == 1
    assert options == [1, 40_000]


def test_a_command_that_fails_says_why(node: Server) -> None:
    assert failure(node, command="fail") == "work: why it failed"


def test_a_connection_that_breaks_is_said(node: Server) -> None:
    assert failure(node, command="hang up") == "work: the connection was lost"


def test_an_unknown_host_key_is_refused(node: Server, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    said = failure(node, ssh_known_hosts_file=str(empty))
    assert said is not None
    assert said.startswith(f"cannot be reached: its host key is not in {empty}; add it")
    assert empty.read_text() == ""


def test_another_host_key_is_refused(node: Server, tmp_path: Path) -> None:
    other = new_key(tmp_path / "other")
    known = tmp_path / "changed"
    known.write_text(f"[{LOCAL}]:{node.port} {other.get_name()} {other.get_base64()}\n")
    said = failure(node, ssh_known_hosts_file=str(known))
    assert said is not None
    assert said.startswith(f"cannot be reached: its host key is not the one in {known}")


def test_a_login_that_is_refused(node: Server, tmp_path: Path) -> None:
    new_key(tmp_path / "stranger")
    words = "cannot be reached: SSH login refused (is our key in its authorized_keys?)"
    assert failure(node, ssh_key=str(tmp_path / "stranger")) == words


def test_an_upload_that_fails_is_one_line(node: Server) -> None:
    # this server has no SFTP
    report = run([Target("n1", (), node.data)], lambda: files.put(src=StringIO("x"), dest="/f"), execute=True)
    said = report.hosts["n1"].failure
    assert said is not None
    assert said.startswith("files.put: ")
    assert "\n" not in said


def test_host_names_stay_plain() -> None:
    assert list(PoolSSH.make_names_data("n01")) == [("n01", {"ssh_hostname": "n01"}, [])]


def test_the_entry_point_is_ours() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'pool = "{PoolSSH.__module__}:{PoolSSH.__name__}"' in text
