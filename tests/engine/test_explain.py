"""Errors as one line for people, tested with real connections."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from origin import ORIGIN
from pace import start
from paramiko import AuthenticationException, BadHostKeyException, Ed25519Key, SSHException
from pyinfra.api.exceptions import ConnectError, OperationError

from gpupool.engine import ssh
from gpupool.engine.drive import NodeHost, run
from gpupool.engine.explain import last_line, one_line, reason, unreachable
from gpupool.errors import TestbedError


def connect_error(cause: Exception) -> ConnectError:
    """Return the error as pyinfra raises it: with additional words around the cause."""
    try:
        try:
            raise cause
        except Exception as error:
            raise ConnectError(f"Could not connect ({error})")  # noqa: B904
    except ConnectError as error:
        return error


KEY = Ed25519Key.from_private_key_file


@pytest.mark.parametrize(
    ("cause", "message"),
    [
        (AuthenticationException("Authentication failed."), "SSH login refused (is your key in its authorized_keys?)"),
        (socket.gaierror(-2, "Name or service not known"), "cannot resolve its host name"),
        (TimeoutError("timed out"), "no answer"),
        (OSError(113, "No route to host"), "no route to host"),
        (SSHException("Error reading SSH protocol banner"), "no SSH server answered"),
        (
            SSHException("StrictPolicy: No host key for 10.0.0.1 found in known_hosts"),
            "its host key is not in /kh; add it before the first run (ssh-keyscan, then compare)",
        ),
        (SSHException("Incompatible ssh peer\n(no key)"), "Incompatible ssh peer (no key)"),
    ],
)
def test_an_unreachable_node_has_a_reason(cause: Exception, message: str) -> None:
    assert unreachable(connect_error(cause), "/kh") == f"cannot be reached: {message}"


def test_another_host_key_than_the_known_one_is_explained() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    import io

    key = Ed25519Key(file_obj=io.StringIO(pem.decode()))
    words = unreachable(connect_error(BadHostKeyException("[10.0.0.1]:2222", key, key)), "/kh")
    assert words.startswith("cannot be reached: its host key is not the one in /kh")
    assert "ssh-keygen -f /kh -R '[10.0.0.1]:2222'" in words


def test_each_error_has_a_reason() -> None:
    assert reason(TestbedError("no\n  room")) == "no room"
    assert reason(OperationError("in words")) == "in words"
    assert reason(ValueError("x")) == "ValueError: x"
    assert reason(FileNotFoundError(2, "No such file", "f.j2")) == "FileNotFoundError: [Errno 2] No such file: 'f.j2'"
    assert last_line(["a", "\x1b[31mE: b\x1b[0m", "", " "]) == "E: b"
    assert last_line([]) is None
    assert one_line("; ".join(["tank/red: it stays"] * 20)).count("it stays") == 20
    assert len(one_line("x" * 10_000)) == 4000


@contextlib.contextmanager
def silent_server() -> Iterator[int]:
    """A port that accepts connections and sends nothing, like a frozen node."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_silent_node_is_abandoned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ssh, "GREETING_SECONDS", 0.2)
    with silent_server() as port:
        target = NodeHost("n1", (), {"ssh_hostname": "127.0.0.1", "ssh_port": port, "ssh_user": "root"})
        report = run([target], lambda: None, execute=True, origin=ORIGIN)
    assert report.failures == {"n1": "cannot be reached: no SSH server answered"}
    assert report.seconds < 10 * start(), "it waited for longer than GREETING_SECONDS"
