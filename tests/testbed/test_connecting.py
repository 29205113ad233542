"""Connections of users to a head from their own machines, verbatim from the guide (section C of the promises)."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pace import until

from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import Testbed

USER, LAB, HEAD = "u-kira1", "kira-lab", "sky1"
HOFFMAN = "u-hoffman1"
LAUNCH = f"--gpus a40:1 --cpus-per-task 15 --partition {LAB}"
LIST = r"""ps x --User $(whoami) -o "pid,cmd" | grep vscode-server | grep -v -E "\sgrep\s" """
KILL = r"""kill $(ps x --User $(whoami) -o "pid,cmd" | grep vscode-server | grep -v -E "\sgrep\s" | awk {'print$1'})"""


@pytest.fixture
def agent(idle: Testbed) -> Iterator[str]:
    """Yield the socket of an SSH agent on the user's machine with a key in it."""
    assert idle.target.testbed
    # the path of a test's own folder may be too long for a socket: 107 characters
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/agent"
        with subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL) as process:
            try:
                until(lambda: Path(path).exists() or process.poll() is not None, "the agent listens")
                env = {**os.environ, "SSH_AUTH_SOCK": path}
                subprocess.run(["ssh-add", "-q", idle.target.testbed.key], env=env, check=True)
                yield path
            finally:
                process.kill()


@pytest.mark.promise("SKY-044")
def test_the_guides_ssh_config_sends_the_variable_and_the_agent(idle: Testbed, agent: str, tmp_path: Path) -> None:
    assert idle.target.testbed
    config = tmp_path / "config"
    own = f'  SetEnv SKY_VSC_LAUNCH="{LAUNCH}"\n  ForwardX11Trusted yes\n  ForwardAgent yes\n'
    rest = Path(idle.target.testbed.ssh_config).read_text()
    config.write_text(f"Host {HEAD}\n  User {USER}\n{own}{rest}")
    env = {**os.environ, "SSH_AUTH_SOCK": agent}

    def output_of(command: str) -> str:
        done = subprocess.run(
            ["ssh", "-F", config, HEAD, command], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert output_of("echo $SKY_VSC_LAUNCH") == LAUNCH
    assert "ED25519" in output_of("ssh-add -l")
    # another head accepts it too; a compute node accepts no variables
    words = ssh_command(idle.target.testbed, "clippy", USER, ["echo ${SKY_VSC_LAUNCH-unset}"])
    words[1:1] = ["-o", f'SetEnv=SKY_VSC_LAUNCH="{LAUNCH}"']
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip() == "unset"


@pytest.mark.promise("SKY-045")
def test_the_value_of_the_variable_is_a_valid_request(idle: Testbed) -> None:
    job = idle.submit(USER, LAUNCH)
    running = idle.wait_for(job, "RUNNING")
    assert (running["NodeList"], running["NumCPUs"], running["Partition"]) == ("a40-01", "15", LAB)


@pytest.mark.promise("SKY-048")
def test_an_editor_may_be_installed_in_the_users_directory_on_flash(idle: Testbed) -> None:
    own = f"/srv/hoffman-lab/flash9/{HOFFMAN}"
    idle.out(HEAD, f"mkdir -p {own}/editor && cp /bin/true {own}/editor/ && {own}/editor/true && rm -r {own}", HOFFMAN)


@pytest.mark.promise("SKY-049")
def test_a_user_lists_and_ends_their_own_editors(idle: Testbed) -> None:
    start = "for n in 1 2; do setsid bash -c 'exec -a vscode-server sleep infinity' >/dev/null 2>&1 </dev/null & done"
    idle.out(HEAD, start, USER)
    until(lambda: len(idle.run(HEAD, LIST, USER).stdout.splitlines()) == 2, "two processes are listed")
    idle.out(HEAD, KILL, USER)
    until(lambda: idle.run(HEAD, LIST, USER).stdout == "", "none is left")
