"""The same inventory gives the same bytes in every process, without asking any host."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
COMMAND = Path(sys.executable).parent / "gpupool"

# no socket, no name looked up, no program started, no pyinfra
ALONE = """
import socket, subprocess, sys

def refuse(*words, **more):
    raise AssertionError("it reached out")

socket.socket = socket.create_connection = socket.getaddrinfo = subprocess.Popen = refuse
from gpupool.cli import main
try:
    main()
except SystemExit as end:
    heavy = {"pyinfra", "gevent", "paramiko", "testinfra", "pytest"} & set(sys.modules)
    sys.exit(f"imported: {heavy}" if heavy else end.code)
"""


def digest(folder: Path) -> dict[str, str]:
    """Return the hash of every file below a folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_two_processes_render_the_same_bytes(tmp_path: Path) -> None:
    for seed in ("1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo" if seed == "1" else "UTC", "LC_ALL": "C"}
        command = [COMMAND, "render", "inventory/skynet", "--out", tmp_path / seed]
        subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True)
    first, second = digest(tmp_path / "1"), digest(tmp_path / "4242")
    assert len(first) > 200
    assert first == second


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "inventory/skynet"),
        ("render", "inventory/skynet"),
        ("schema",),
        ("check", "tests/unit/cluster/broken/typo_key"),
    ],
)
def test_nothing_is_asked_of_anybody(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == (2 if "broken" in arguments[-1] else 0)


@pytest.mark.parametrize("room", ["cluster", "compile"])
def test_rooms_that_say_what_shall_be_know_no_way_to_do_it(room: str) -> None:
    for file in (ROOT / "gpupool" / room).rglob("*.py"):
        imported = [line for line in file.read_text().splitlines() if line.lstrip().startswith(("import ", "from "))]
        for word in ("pyinfra", "socket", "subprocess", "gpupool.operations", "gpupool.facts", "gpupool.engine"):
            assert not [line for line in imported if word in line], file
