"""A shell that stays open in a twin: a command started by docker costs several times what most commands do."""

import select
import subprocess
import threading
import time
import uuid
from contextlib import suppress

from gpupool.errors import TwinError
from gpupool.rehearsal.twin.jobs import Result
from gpupool.shell import shell_file

_BEGIN = shell_file(__package__, "shell.sh")
_LATE = 60  # seconds beyond a script's own end until the shell itself is given up


class Shell:
    """Root's shell in a container; opened at the first question, and again if it has gone."""

    def __init__(self, container: str) -> None:
        self.container = container
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._one = threading.Lock()

    def run(self, script: str, seconds: float) -> Result:
        """Return how a script ended and what it wrote; one that lasts longer than `seconds` is killed (137)."""
        mark = f"end-{uuid.uuid4().hex}"
        with self._one:
            try:
                with suppress(BrokenPipeError):  # why it has ended can be read
                    self._write(f"answer {mark} {seconds:.0f} <<'{mark}'\n{script}\n{mark}\n")
                until = time.monotonic() + seconds + _LATE
                line = self._line(until)
                if not line.startswith(f"{mark} "):
                    raise ConnectionError(line.removeprefix("Error response from daemon: "))
                code, out, err = map(int, line.split()[1:])
                output = self._bytes(out + err, until)
            except OSError as error:
                self.close()
                raise TwinError(f"{self.container} does not answer: {error}") from None
            except BaseException:  # Ctrl-C: the answer that comes is not the next question's
                self.close()
                raise
        return Result(code, output[:out].decode(errors="replace"), output[out:].decode(errors="replace"))

    def close(self) -> None:
        """End the shell; twice does no harm."""
        process, self._process, self._rest = self._process, None, b""
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
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us alone
            )
            text = _BEGIN + text
        assert self._process.stdin
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def _line(self, until: float) -> str:
        while b"\n" not in self._rest:
            self._read(until)
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def _bytes(self, count: int, until: float) -> bytes:
        while len(self._rest) < count:
            self._read(until)
        data, self._rest = self._rest[:count], self._rest[count:]
        return data

    def _read(self, until: float) -> None:
        assert self._process
        assert self._process.stdout
        ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TimeoutError("its shell is silent")
        more = self._process.stdout.read1(65536)  # type: ignore[attr-defined]
        if not more:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
            message = self._rest.decode(errors="replace").strip()
            raise ConnectionError(message or "its shell has ended")
        self._rest += more
