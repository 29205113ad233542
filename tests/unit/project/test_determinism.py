"""The same inventory gives the same bytes in every process, without asking any host."""

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


def test_two_processes_render_the_same_bytes() -> None:
    printed = []
    for seed in ("1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": "Asia/Tokyo" if seed == "1" else "UTC", "LC_ALL": "C"}
        command = [COMMAND, "render", "inventory/skynet"]
        printed.append(subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True).stdout)
    assert printed[0].count(b"\n==> ") > 100
    assert printed[0] == printed[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "inventory/skynet"),
        ("render", "inventory/skynet"),
        ("schema",),
        ("check", "tests/unit/cluster/broken/typo_key"),
    ],
)
def test_rendering_opens_no_socket_and_starts_no_program(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode == (2 if "broken" in arguments[-1] else 0)


@pytest.mark.parametrize("room", ["cluster", "compile"])
def test_rooms_of_the_wanted_state_import_no_way_to_nodes(room: str) -> None:
    for file in (ROOT / "gpupool" / room).rglob("*.py"):
        imported = [line for line in file.read_text().splitlines() if line.lstrip().startswith(("import ", "from "))]
        for word in ("pyinfra", "socket", "subprocess", "gpupool.operations", "gpupool.facts", "gpupool.engine"):
            assert not [line for line in imported if word in line], file
