"""A first password: shown once, changed at the first login, and in no log."""

from pathlib import Path

import paramiko
import pytest

from tests.testbed.cluster import Changed, Testbed, gpupool

USER, HEAD, OTHER = "u-kira1", "sky1", "sky2"
NEW = "corr3ct-Horse-9"


def connected(testbed: Testbed, password: str) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    client.load_host_keys(str(testbed.target.ssh["ssh_known_hosts_file"]))
    address = testbed.cluster.nodes[HEAD].address
    assert address
    client.connect(address, username=USER, password=password, look_for_keys=False, allow_agent=False)
    return client


def answer(channel: paramiko.Channel, prompt: str, text: str) -> None:
    """Wait for a prompt and answer it."""
    seen = ""
    while prompt not in seen:
        data = channel.recv(4096).decode()
        assert data, f"it hung up: {seen}"
        seen += data
    channel.sendall(f"{text}\n".encode())


@pytest.mark.promise("SDU-004", "SDU-005")
def test_a_first_password_is_changed_at_the_first_login(changed: Changed, tmp_path: Path) -> None:
    testbed = changed("labs.yml", f"name: {USER},", f"name: {USER}, first_password: must_change,")
    testbed.out(HEAD, f"usermod -p '!' {USER}")
    began = testbed.out(HEAD, "date +%s")
    words = ("password", testbed.inventory, USER, "--on", "testbed", "--limit", HEAD)
    done = gpupool(*words)
    assert done.returncode == 0, done.stderr
    first = done.stdout.strip()
    try:
        assert testbed.out(HEAD, f"getent shadow {USER}").split(":")[2] == "0"
        assert testbed.out(OTHER, f"getent shadow {USER}").split(":")[1].startswith("!"), "it was for one node"
        with connected(testbed, first) as client:
            channel = client.invoke_shell()
            for prompt, text in (("urrent password:", first), ("New password:", NEW), ("Retype new password:", NEW)):
                answer(channel, prompt, text)
            assert channel.recv_exit_status() == 0, "it hangs up when the password is changed"
        with connected(testbed, NEW) as client:
            assert client.exec_command("id -un")[1].read().decode().strip() == USER
        with pytest.raises(paramiko.AuthenticationException):
            connected(testbed, first)
        # it is the user's own now
        again = gpupool(*words)
        assert (again.returncode, again.stdout) == (1, "")
        assert "--reset replaces it" in again.stderr
        journal = testbed.out(HEAD, f"journalctl -o cat --no-pager --since @{began}")
        assert not [text for text in (journal, done.stderr, again.stderr) if first in text or NEW in text]
        assert testbed.plan("--limit", HEAD) == (0, {})
    finally:
        testbed.out(HEAD, f"usermod -p '!' {USER}; chage -d {int(began) // 86400} {USER}")
