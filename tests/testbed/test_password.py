"""A first password: shown once, changed at the first login, and not in any log."""

from pathlib import Path

import paramiko
import pytest
from logging_in import change_password, connected

from tests.testbed.cluster import Changed, gpupool

USER, HEAD, OTHER = "u-kira1", "sky1", "sky2"
NEW = "corr3ct-Horse-9"


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
        with connected(testbed, HEAD, USER, first) as client:
            change_password(client, first, NEW)
        with connected(testbed, HEAD, USER, NEW) as client:
            assert client.exec_command("id -un")[1].read().decode().strip() == USER
        with pytest.raises(paramiko.AuthenticationException):
            connected(testbed, HEAD, USER, first)
        # the user has a password now
        again = gpupool(*words)
        assert (again.returncode, again.stdout) == (1, "")
        assert "--reset replaces it" in again.stderr
        journal = testbed.out(HEAD, f"journalctl -o cat --no-pager --since @{began}")
        assert not [text for text in (journal, done.stderr, again.stderr) if first in text or NEW in text]
        assert testbed.plan("--limit", HEAD) == (0, {})
    finally:
        testbed.out(HEAD, f"usermod -p '!' {USER}; chage -d {int(began) // 86400} {USER}")
