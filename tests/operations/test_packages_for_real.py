"""The script that installs packages, run for real with fake apt and dpkg."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
import stand_ins

from gpupool.operations import packages

MIRROR = "E: Failed to fetch the list of packages  Could not connect to port 80"
UNREAD = f"apt-get install: E: Unable to locate package cowsay; apt-get update: {MIRROR}"
STAND_INS = {
    # like apt: without the mode, a mirror that does not answer is a warning, and the exit status is 0
    "apt-get": f"""
case " $* " in
  *" update "*) [ -e "$STATE/up" ] && {{ touch "$STATE/lists"; exit 0; }}
    [ ! -e "$STATE/partly" ] || touch "$STATE/lists"
    case $* in *Error-Mode=any*) echo "{MIRROR}"; exit 100;; *) echo "{MIRROR.replace("E:", "W:")}"; exit 0;; esac;;
  *) echo "install $*" >> "$STATE/asked"; [ -e "$STATE/lists" ] && [ ! -e "$STATE/unknown" ] && exit 0
    echo "E: Unable to locate package cowsay"; exit 100;;
esac""",
    "dpkg": '[ "$1" != --audit ] || [ ! -e "$STATE/torn" ] || echo "cowsay is half there"',
    "dpkg-query": '[ ! -e "$STATE/torn" ] || printf "%s\\n" "reinstreq cowsay:amd64" "ok bash:amd64"',
    "flock": "exit 0",
    "find": "exit 0",  # no lists, or old ones
}


def installed(tmp_path: Path, *states: str, call: str = "\n".join((*packages.FIRST, "get cowsay"))) -> tuple[int, str]:
    """Install a package, and return the exit status and the last message."""
    programs = tmp_path / "bin"
    stand_ins.put(STAND_INS, programs)
    for state in states:
        (tmp_path / state).touch()
    script = f"{packages._PRELUDE.strip()}\n{call}"
    for path in ("/usr/sbin/policy-rc.d", "/var/log/", "/var/lib/gpupool-", "/usr/lib/apt/"):
        script = script.replace(path, f"{tmp_path}/{path.rpartition('/')[2]}")
    environ = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "STATE": str(tmp_path),
        "TMPDIR": str(tmp_path),
    }
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False, env=environ)
    assert not (tmp_path / "policy-rc.d").exists()
    return done.returncode, (done.stderr.strip().splitlines() or [""])[-1]


def test_an_unreachable_mirror_is_named(tmp_path: Path) -> None:
    assert installed(tmp_path) == (1, UNREAD)


def test_a_dead_source_is_no_obstacle_if_another_has_the_package(tmp_path: Path) -> None:
    """apt keeps the lists of the sources that answer; fresh lists may lack the package."""
    assert installed(tmp_path, "partly") == (0, "")
    (tmp_path / "lists").unlink()
    assert installed(tmp_path, "partly", call="away=\nget cowsay") == (0, "")


def test_without_the_package_the_dead_source_is_named_beside_it(tmp_path: Path) -> None:
    assert installed(tmp_path, "partly", "unknown") == (1, UNREAD)


@pytest.mark.parametrize("states", [("up",), ("lists",)])
def test_existing_lists_are_enough(tmp_path: Path, states: tuple[str, ...]) -> None:
    assert installed(tmp_path, *states) == (0, "")


def test_a_package_that_no_mirror_has_is_named(tmp_path: Path) -> None:
    assert installed(tmp_path, "up", "unknown") == (1, "apt-get install: E: Unable to locate package cowsay")


SUM = "26cf96e08fccb0e50ea0f285a5a19f940ee873d167a0680584fe6eba7d197d65"


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (("lists",), ""),
        (("up",), ""),
        (("partly",), ""),
        ((), UNREAD),
        (
            ("lists", "away"),
            "cannot fetch https://packages.example.org/a.deb: Could not resolve 'packages.example.org'",
        ),
    ],
)
def test_a_package_comes_from_its_address(states: tuple[str, ...], message: str, tmp_path: Path) -> None:
    helper = tmp_path / "apt-helper"
    helper.write_text(
        '#!/bin/sh\n[ ! -e "$STATE/away" ] || { echo "E: Failed to fetch $2  Could not resolve '
        '\'packages.example.org\'"; echo "E: Download Failed"; exit 100; }\n'
        'echo "$*" >> "$STATE/fetched"\n'
    )
    helper.chmod(stat.S_IRWXU)
    call = f"fetch a https://packages.example.org/a.deb {SUM} {tmp_path}/notes"
    assert installed(tmp_path, *states, call=call) == (1 if message else 0, message)
    note = tmp_path / "notes/a"
    assert (note.read_text() if note.exists() else "") == ("" if message else f"{SUM}\n")
    assert not list(tmp_path.glob("tmp.*")), "what was downloaded is gone"
    if not message:
        assert f"SHA256:{SUM}" in (tmp_path / "fetched").read_text()
        assert "--allow-downgrades -- " in (tmp_path / "asked").read_text()


def test_a_half_installed_package_is_installed_again_first(tmp_path: Path) -> None:
    assert installed(tmp_path, "up", "torn") == (0, "")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.partition("Use-Pty=0 ")[2] for line in asked] == [
        "install --reinstall -- cowsay:amd64",
        "-f install",
        "install --no-install-recommends --no-remove -- cowsay",
    ]
