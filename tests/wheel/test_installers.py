"""The wheel, installed by a user with pipx, uv and pip in containers of plain Debian, with the newest dependencies."""

import shlex
import ssl
import subprocess
from pathlib import Path

import pytest
from wheels import build

from gpupool.testbed import dockerd, image

# the shell lines that each way of installing needs: of root, and of the user
PIPX = ("pipx", "pipx install {wheel}", "$HOME/.local/bin/gpupool")
UV = (
    "python3-venv",
    "python3 -m venv tool && tool/bin/pip install --quiet uv && tool/bin/uv tool install --quiet --native-tls {wheel}",
    "$HOME/.local/bin/gpupool",
)
PIP = ("python3-venv", "python3 -m venv tool && tool/bin/pip install --quiet {wheel}", "tool/bin/gpupool")

TRUST = "/srv/authorities.crt"
"""The certificate authorities of this machine: a container has none, and a network can have its own."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dockerd.ensure()
    return build(tmp_path_factory.mktemp("dist")).wheel


@pytest.mark.parametrize(
    ("suite", "way"),
    [("bookworm", PIPX), ("trixie", PIPX), ("trixie", UV), ("sid", PIP)],
    ids=["debian-12-pipx", "debian-13-pipx", "debian-13-uv", "only-python-pip"],
)
def test_a_user_installs_the_wheel_and_checks_a_new_inventory(
    wheel: Path, suite: str, way: tuple[str, str, str]
) -> None:
    package, install, program = way
    user = f"""
        export LC_ALL=C.UTF-8 PIP_CERT={TRUST} SSL_CERT_FILE={TRUST}
        cd && {install.format(wheel=f"/dist/{wheel.name}")}
        {program} --version && {program} init site && {program} check site
    """
    root = f"""
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq && apt-get install -qq --no-install-recommends adduser {package} > /dev/null
        adduser --quiet --disabled-password --gecos '' u-kira1
        exec su - u-kira1 -c {shlex.quote(f"set -eu; {user}")}
    """
    done = in_container(image.debian(suite, print), f"set -eu; {root}", wheel)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no errors" in done.stdout


def in_container(base: str, script: str, wheel: Path) -> subprocess.CompletedProcess[str]:
    """Run a shell script as root in a new container of an image, on this machine's network, beside the wheel."""
    trusted = ssl.get_default_verify_paths().cafile
    assert trusted is not None
    volumes = [f"{wheel}:/dist/{wheel.name}:ro", f"{trusted}:{TRUST}:ro"]
    command = ["docker", "run", "--rm", "--network=host", *(f"--volume={volume}" for volume in volumes)]
    return subprocess.run([*command, base, "sh", "-c", script], capture_output=True, text=True, check=False)
