"""Connections from a node: the program that verify sends there."""

import socket
import subprocess
import sys
from pathlib import Path

from gpupool.verify import dial


def dialled(*lines: str, seconds: str = "1") -> dict[str, str]:
    """Return the results of the program, as a node runs it."""
    text = Path(dial.__file__).read_text()
    words = [sys.executable, "-c", text, seconds]
    done = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, check=True)
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def test_an_answer_a_refusal_and_silence_differ() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, socket.create_server(("127.0.0.1", 0)) as server:
        port, silent = server.getsockname()[1], full.getsockname()[1]
        # Linux drops further connections to a listener whose queue is full
        with socket.create_connection(("127.0.0.1", silent)):
            results = dialled(f"127.0.0.1 {port}", "127.0.0.1 1", f"127.0.0.1 {silent}")
    assert results == {f"127.0.0.1 {port}": "OK", "127.0.0.1 1": "ECONNREFUSED", f"127.0.0.1 {silent}": "ETIMEDOUT"}


def test_no_target_is_no_result() -> None:
    assert dialled() == {}
