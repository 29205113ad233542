"""A shell that stays open in a twin: `docker exec` takes several times as long as most commands."""

import select
import subprocess
import threading
import time
import uuid
from contextlib import suppress
from typing import IO

from gpupool.errors import TwinError
from gpupool.rehearsal.twin.jobs import Result
from gpupool.shell import shell_file

_BEGIN = shell_file(__package__, "shell.sh")
_LATE = 60  # seconds beyond a script's time limit after which the shell has failed


class Shell:
    """Root's shell in a container, started with the first script, and again if it has ended."""

    def __init__(self, container: str) -> None:
        self.container = container
        self._process: subprocess.Popen[bytes] | None = None
        self._one = threading.Lock()

    def run(self, script: str, seconds: float) -> Result:
        """Run a script and return its result; after `seconds`, it is killed (exit code 137)."""
        mark = f"end-{uuid.uuid4().hex}"
        with self._one:
            try:
                self._write(f"answer {mark} {seconds:.0f} <<'{mark}'\n{script}\n{mark}\n")
                return self._answer(mark, time.monotonic() + seconds + _LATE)
            except OSError as error:
                self.close()
                raise TwinError(f"{self.container} does not answer: {error}") from None
            except BaseException:  # Ctrl-C: the pending output must not become the result of the next script
                self.close()
                raise

    def close(self) -> None:
        """End the shell, if it still runs."""
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()

    def _write(self, text: str) -> None:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                ["docker", "exec", "--interactive", "--workdir", "/tmp", self.container, "bash"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C must not reach it
            )
            text = _BEGIN + text
        assert self._process.stdin
        with suppress(BrokenPipeError):  # _answer reads why it has ended
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()

    def _answer(self, mark: str, until: float) -> Result:
        assert self._process
        out, err = self._process.stdout, self._process.stderr
        assert out
        assert err
        end = f"\n{mark} ".encode()
        received: dict[IO[bytes], bytes] = {out: b"", err: b""}
        while left := [stream for stream, text in received.items() if b"\n" not in text.partition(end)[2]]:
            ready, _, _ = select.select(left, [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("no answer from its shell")
            for stream in ready:
                if not (more := stream.read1(65536)):  # type: ignore[attr-defined]
                    raise ConnectionError(self._why(received[err]))
                received[stream] += more
        written, _, code = received[out].partition(end)
        errors = received[err].partition(end)[0]
        return Result(int(code.split(b"\n")[0]), written.decode(errors="replace"), errors.decode(errors="replace"))

    def _why(self, complaint: bytes) -> str:
        assert self._process
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)
        assert self._process.stderr
        complaint += self._process.stderr.read1(65536) if not complaint else b""  # type: ignore[attr-defined]
        message = complaint.decode(errors="replace").strip().removeprefix("Error response from daemon: ")
        return message or "its shell has ended"
