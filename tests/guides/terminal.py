"""A user's terminal on a node: input and output."""

import os
import re
import subprocess
import threading
from types import TracebackType

from pace import until

from gpupool.testbed.look import ssh_command
from tests.testbed.cluster import Testbed

_ENTER, _END, _INTERRUPT = "\n", "\x04", "\x03"
#: Sequences that move the cursor, set colours, or name the window.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    """A log-in on a node with a terminal, as a person has. It ends with the test."""

    def __init__(self, testbed: Testbed, node: str, user: str, prompt: str = r"\$ \Z") -> None:
        assert testbed.target.testbed
        self._testbed, self._node, self._user = testbed, node, user
        first, *rest = ssh_command(testbed.target.testbed, node, user)
        self._ssh = subprocess.Popen(
            [first, "-tt", *rest],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TERM": "xterm"},  # ssh sends TERM to the node
        )
        self._text, self._seen = "", 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.wait_for(prompt)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ssh.kill()
        self._ssh.wait()
        self._reader.join()

    def type(self, line: str, shown: str = r"\$ \Z") -> str:
        """Type a line; return the output from then on, until it matches `shown`, usually a prompt."""
        self._seen = len(self._text)
        self._put(line + _ENTER)
        return self.wait_for(shown)

    def press_ctrl_d(self, shown: str = r"\$ \Z") -> str:
        """End the shell or program that reads the input."""
        self._seen = len(self._text)
        self._put(_END)
        return self.wait_for(shown)

    def press_ctrl_c(self, shown: str = r"\$ \Z") -> str:
        """Interrupt the running program."""
        self._seen = len(self._text)
        self._put(_INTERRUPT)
        return self.wait_for(shown)

    def wait_for(self, shown: str) -> str:
        """Wait until the output matches a regular expression; return the output since the last line was typed."""
        until(
            lambda: self.shows(shown) or self._ssh.poll() is not None,
            f"the terminal shows {shown!r}",
            self._new,
        )
        new = self._new()
        assert re.search(shown, new), f"the log-in has ended: {new}"
        return new

    def wait_for_salloc(self) -> str:
        """Wait for the prompt of a salloc's shell; return the output since the last line was typed.

        salloc gives its shell the terminal only after the shell has started: on a busy machine the shell has stopped by
        then, and must be continued.
        """

        def prompts() -> bool:
            self._testbed.run(self._node, "pkill -CONT -x bash", self._user)
            return self.shows(r"Granted job allocation \d+[\s\S]*\$ \Z")

        until(prompts, "the shell of salloc shows its prompt", self._new)
        return self._new()

    def shows(self, shown: str) -> bool:
        """Return whether the output since the last line was typed matches a regular expression."""
        return re.search(shown, self._new()) is not None

    def _new(self) -> str:
        return _CONTROL.sub("", self._text[self._seen :])

    def _put(self, text: str) -> None:
        assert self._ssh.stdin
        self._ssh.stdin.write(text.encode())
        self._ssh.stdin.flush()

    def _read(self) -> None:
        assert self._ssh.stdout
        while piece := self._ssh.stdout.read1(65536):  # type: ignore[attr-defined]
            self._text += piece.decode(errors="replace")
