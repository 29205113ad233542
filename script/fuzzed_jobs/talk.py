"""The program in the container, and the messages to and from it."""

import json
import queue
import subprocess
import threading
from pathlib import Path
from typing import Any

from .cases import Case

_SOURCE = (Path(__file__).parent / "inside.py").read_text()


class Inside:
    """The program in a twin's container."""

    def __init__(self, container: str) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            ["docker", "exec", "--interactive", container, "python3", "-X", "utf8", "-c", _SOURCE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def message(self, seconds: float) -> dict[str, Any] | None:
        """Return the next message, or None if there is none in this time; RuntimeError if the program has ended."""
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            return None
        if not message:
            raise RuntimeError("the program in the container has ended")
        return message

    def submit(self, case: Case) -> None:
        """Start the commands of a case."""
        steps = [{"user": step.user, "argv": step.argv, "text": step.text, "wait": step.wait} for step in case.steps]
        self._write({"case": case.number, "steps": steps})

    def cancel(self, jobs: list[str]) -> None:
        """Cancel jobs as root."""
        self._write({"cancel": jobs})

    def close(self) -> None:
        """End the program."""
        if self._process.poll() is None:
            self._write({"quit": True})
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def _write(self, value: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(value).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._messages.put(json.loads(line))
        self._messages.put({})
