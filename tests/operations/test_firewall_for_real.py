"""The source of a connection, read here; and a table that nft cannot load is not installed."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from gpupool.facts.firewall import Caller
from gpupool.operations import daemon_checks

GOOD = "table inet gpupool {\n  chain c { type filter hook input priority 0; }\n}\n"


def came_from(*before: str, **more: str) -> str | None:
    """Return the source with these words before the shell's, and with these variables."""
    command = [*before, "sh", "-c", Caller().command().get_raw_value()]
    env = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"} | more
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return Caller().process(done.stdout.splitlines())


def test_the_source_of_a_connection_is_known_even_if_sudo_removes_the_variable() -> None:
    ours = "192.0.2.7 50000 10.66.2.1 22"
    assert came_from(SSH_CONNECTION=ours) == "192.0.2.7"
    above = ["sh", "-c", 'env -u SSH_CONNECTION "$@"; :', "sh"]
    assert came_from(*above, SSH_CONNECTION=ours) == "192.0.2.7"
    assert came_from(SSH_CONNECTION="fe80::1%eth0 50000 fe80::2 22") == "fe80::1%eth0"


def _nft() -> bool:
    return bool(shutil.which("nft")) and not subprocess.run(["nft", "list", "tables"], capture_output=True).returncode


@pytest.mark.skipif(not _nft(), reason="needs root and nft")
def test_a_table_is_checked_before_it_is_installed(tmp_path: Path) -> None:
    path = tmp_path / "firewall.nft"
    (((_, command),)) = daemon_checks.checks(["/etc/gpupool/firewall.nft"])
    words = [word.replace("/etc/gpupool", str(tmp_path)) for word in command]

    def tried(text: str) -> tuple[int, str]:
        path.with_name(f"{path.name}.new").write_text(text)
        env = {**os.environ, "GPUPOOL_NEW": ".new"}
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
        return done.returncode, done.stdout.strip()

    assert tried(GOOD) == (0, "")
    status, message = tried(GOOD.replace("hook input", "hook nowhere"))
    assert status == 1
    assert message.startswith(f"{path}:2:")
    assert "unknown chain hook" in message
    assert "table inet gpupool" not in subprocess.run(["nft", "list", "tables"], capture_output=True, text=True).stdout
