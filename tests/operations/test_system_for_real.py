"""The system of a node, by a real shell on files like a node's."""

import subprocess
from pathlib import Path

import pytest

from gpupool.facts.system import OsRelease, System

UBUNTU = "\n".join(['PRETTY_NAME="Ubuntu 24.04.3 LTS"', "ID=ubuntu", "ID_LIKE=debian", "VERSION_CODENAME=noble", ""])
DEBIAN = "\n".join(["PRETTY_NAME='Debian GNU/Linux 13 (trixie)'", "VERSION_CODENAME=trixie", "ID=debian", ""])


def asked(folder: Path, etc: str | None, usr: str | None) -> OsRelease | None:
    """Return the answer of a node whose two files have these texts."""
    command = System().command().get_raw_value()
    for path, text in {"/etc/os-release": etc, "/usr/lib/os-release": usr}.items():
        there = folder / path.replace("/", "-")
        command = command.replace(path, str(there))
        if text is not None:
            there.write_text(text)
    environment = {"PATH": "/usr/bin:/bin", "ID": "somebody's", "VERSION_CODENAME": "somebody's"}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)
    return System().process(done.stdout.splitlines())


@pytest.mark.parametrize(
    ("etc", "usr", "system"),
    [
        pytest.param(UBUNTU, DEBIAN, OsRelease("ubuntu", "noble", "Ubuntu 24.04.3 LTS"), id="the first file counts"),
        pytest.param(None, DEBIAN, OsRelease("debian", "trixie", "Debian GNU/Linux 13 (trixie)"), id="one file"),
        pytest.param("ID=arch\n", None, OsRelease("arch", "", ""), id="fields that are not there"),
        pytest.param(None, None, OsRelease(), id="no file"),
        pytest.param("ID=(\n", DEBIAN, None, id="not a file of variables"),
    ],
)
def test_a_node_answers_with_its_system(
    tmp_path: Path, etc: str | None, usr: str | None, system: OsRelease | None
) -> None:
    assert asked(tmp_path, etc, usr) == system


def test_this_machine_has_a_system() -> None:
    command = System().command().get_raw_value()
    lines = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout.splitlines()
    assert f"ID={System().read(lines).id}" in Path("/etc/os-release").read_text().replace('"', "").splitlines()
