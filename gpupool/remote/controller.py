"""Commands on nodes by OpenSSH, each bounded in time; Slurm's own on the first controller that answers."""

import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpupool.errors import GpupoolError
from gpupool.target import Target

SECONDS = 60.0  # for a command, unless its caller says otherwise
_CONNECTING = 40.0  # OpenSSH gives up before that
_ALIVE = "  ServerAliveInterval 15\n  ServerAliveCountMax 3\n"
_SSH = 255  # ssh's own exit code
_SILENT = ("Unable to contact slurm controller", "Socket timed out", "Connection refused")  # slurmctld is away
_LATE = (124, 137)  # timeout's


class NoAnswerError(GpupoolError):
    """A node, or every controller, did not answer in time."""


class RefusedError(GpupoolError):
    """A command ended badly on the node; the text is what it said, `printed` its standard output."""

    def __init__(self, message: str, printed: str = "") -> None:
        super().__init__(message)
        self.printed = printed


class Controller:
    """The way to the controllers and to the other nodes of a target; made by `reach`."""

    def __init__(self, target: Target, config: Path) -> None:
        self.target = target
        self._config = config

    def ask(self, *argv: str, stdin: str = "", seconds: float = SECONDS) -> str:
        """Return what a command prints on the first controller that answers.

        NoAnswerError when none does, RefusedError when the command ends badly.
        """
        return self._of_one(lambda name: self.on(name, *argv, stdin=stdin, seconds=seconds))[1]

    def first(self) -> str:
        """Return the name of the first controller that answers; NoAnswerError when none does."""
        return self._of_one(lambda name: self.on(name, "true", seconds=20))[0]

    def _of_one(self, look: Callable[[str], str]) -> tuple[str, str]:
        """Return the first controller that answers, and what a look at it gives."""
        why = "the inventory has no controller that gpupool manages"
        for node in self.target.cluster.controllers:
            try:
                return node.name, look(node.name)
            except NoAnswerError as error:
                why = str(error)
            except RefusedError as error:
                if not any(text in str(error) for text in _SILENT):
                    raise
                why = str(error)
        raise NoAnswerError(f"no controller answers: {why}")

    def on(self, node: str, *argv: str, stdin: str = "", seconds: float = SECONDS) -> str:
        """Return what a command prints on a node; NoAnswerError or RefusedError."""
        line = shlex.join(["timeout", "-k", "5", f"{seconds:.0f}", *argv])
        command = ["ssh", "-F", str(self._config), node, line]
        try:
            done = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=seconds + _CONNECTING,
            )
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"{node}: no answer in {seconds:.0f} s") from None
        if done.returncode == 0:
            return done.stdout
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        if done.returncode in _LATE:
            raise NoAnswerError(f"{node}: {argv[0]} gives no answer in {seconds:.0f} s")
        if done.returncode == _SSH:
            raise NoAnswerError(f"{node}: {output[-1] if output else 'it cannot be reached'}")
        why = output[-1] if output else f"exit code {done.returncode}"
        raise RefusedError(f"{node}: {argv[0]}: {why}", done.stdout)

    def session(self, node: str, *argv: str) -> subprocess.Popen[str]:
        """Start a command on a node that lasts as long as its standard input is open, and no longer than we do."""
        command = ["ssh", "-F", str(self._config), node, shlex.join(argv)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


@contextmanager
def reach(target: Target) -> Iterator[Controller]:
    """Give the way to the controllers and the nodes."""
    with tempfile.TemporaryDirectory(prefix="gpupool-") as folder:
        config = Path(folder) / "ssh_config"
        config.write_text(f"{target.ssh_config}{_ALIVE}")
        yield Controller(target, config)
