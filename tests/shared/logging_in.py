"""A log-in with a password, as by a user without a key."""

from typing import Any

import paramiko


def connected(testbed: Any, node: str, user: str, password: str) -> paramiko.SSHClient:
    """Return a session of a user on a node of a testbed; AuthenticationException if the password is wrong."""
    client = paramiko.SSHClient()
    client.load_host_keys(str(testbed.target.ssh["ssh_known_hosts_file"]))
    address = testbed.cluster.nodes[node].address
    assert address
    client.connect(address, username=user, password=password, look_for_keys=False, allow_agent=False)
    return client


def change_password(client: paramiko.SSHClient, first: str, new: str) -> None:
    """Answer the questions of a first log-in, which asks for a new password; the connection ends then."""
    channel = client.invoke_shell()
    for prompt, text in (("urrent password:", first), ("New password:", new), ("Retype new password:", new)):
        _answer(channel, prompt, text)
    assert channel.recv_exit_status() == 0, "it hangs up when the password is changed"


def _answer(channel: paramiko.Channel, prompt: str, text: str) -> None:
    seen = ""
    while prompt not in seen:
        data = channel.recv(4096).decode()
        assert data, f"it hung up: {seen}"
        seen += data
    channel.sendall(f"{text}\n".encode())
