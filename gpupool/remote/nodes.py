"""Run commands on nodes with OpenSSH and a time limit, copy files from nodes, and read their host keys."""

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from gpupool.errors import GpupoolError
from gpupool.remote import bounded, config, settings, ssh_errors
from gpupool.remote.command import BEGIN, MOST_BYTES, TooMuchError, output_of, refusal, remote_command
from gpupool.remote.door import Door
from gpupool.remote.errors import NoAnswerError, RefusedError
from gpupool.target import Target

SECONDS = 60.0  # for a command, by default
_CONNECTING = config.CONNECT_SECONDS + 10.0  # OpenSSH gives up before that
_SSH_FAILED = 255  # the exit status of ssh itself
_TIMED_OUT = (124, 137)  # the exit statuses of timeout
_PERSIST_SECONDS = 60  # from the last command on a shared connection to its end, if gpupool was killed
_LONGEST_SOCKET = 80  # bytes of a path; the system accepts 104, and OpenSSH temporarily appends 17


@dataclass(frozen=True)
class Answer:
    """The result of a command on a node: its exit status, standard output and standard error."""

    code: int
    out: bytes
    err: bytes


class Nodes:
    """The nodes of a target, for commands by OpenSSH; made by `Nodes.of`, or other machines by `Nodes.at`.

    All commands on a node share one connection.
    """

    def __init__(self, door: Door, folder: Path, addresses: Mapping[str, str] | None = None) -> None:
        self._door = door
        self._folder = folder
        self.config = folder / "ssh_config"
        self.config.write_text(config.text(door))
        self._addresses = dict(self.target.addresses if addresses is None else addresses)
        # numbers, because names of nodes may be too long for the path of a socket
        self._sockets = {name: folder / str(number) for number, name in enumerate(self._addresses)}

    @classmethod
    @contextmanager
    def of(cls, target: Target, addresses: Mapping[str, str] | None = None) -> Iterator[Self]:
        """Yield the nodes of a target, or other machines at `addresses`, and end the connections afterwards."""
        with cls.at(target, addresses) as nodes:
            yield nodes

    @classmethod
    @contextmanager
    def at(cls, door: Door, addresses: Mapping[str, str] | None) -> Iterator[Self]:
        """Yield machines at `addresses` that no inventory has, and end the connections afterwards."""
        with tempfile.TemporaryDirectory(prefix="gpupool-") as folder:
            nodes = cls(door, Path(folder), addresses)
            try:
                yield nodes
            finally:
                nodes.close()

    @cached_property
    def target(self) -> Target:
        """The target of nodes that an inventory has."""
        assert isinstance(self._door, Target)
        return self._door

    def run(
        self, node: str, script: str | Sequence[str], *, stdin: str | bytes = b"", seconds: float = SECONDS
    ) -> Answer:
        """Run a script of sh, or a program with its arguments, as root on a node.

        NoAnswerError if the node cannot be reached or the command takes more than `seconds`; RefusedError if it was not
        started. The caller has to check the exit status.
        """
        command = self._command(node, _bounded(script, seconds))
        data = stdin.encode() if isinstance(stdin, str) else stdin
        began = time.monotonic()
        try:
            done = _ssh(command, seconds + _CONNECTING, data)
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"{node}: no answer in {seconds:.0f} s") from None
        except TooMuchError as error:
            raise NoAnswerError(f"{node}: {error}") from None
        # a command may use timeout itself: the caller checks that status
        if done.returncode in _TIMED_OUT and time.monotonic() - began >= seconds:
            raise NoAnswerError(f"{node}: the command did not end within {seconds:.0f} s")
        return self._answer(node, done)

    def output_on(self, node: str, *argv: str, stdin: str = "", seconds: float = SECONDS) -> str:
        """Return the output of a program on a node; NoAnswerError, or RefusedError if it fails."""
        answer = self.run(node, argv, stdin=stdin, seconds=seconds)
        out, err = answer.out.decode(errors="replace"), answer.err.decode(errors="replace")
        if answer.code:
            why = _last(err, out) or f"exit code {answer.code}"
            raise RefusedError(f"{node}: {argv[0]}: {why}", out, answer.code, err if err.strip() else out)
        return out

    def session(self, node: str, *argv: str) -> "subprocess.Popen[str]":
        """Start a command on a node that runs until its standard input is closed, at the latest when gpupool ends.

        Its connection is not shared, so that no other command can end it. The output may begin with lines of start-up
        files.
        """
        pipe = subprocess.PIPE
        command = self._command(node, argv, shared=False)
        return subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, errors="replace", bufsize=1
        )

    def fetch(self, node: str, path: str, into: Path, *, seconds: float) -> None:
        """Copy a file of a node to `into`, with mode 0600; NoAnswerError or RefusedError."""
        into.touch(mode=0o600)
        command = self._command(node, _bounded(["cat", "--", path], seconds))
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile(dir=self._folder) as errors,
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=errors) as ssh,
            into.open("wb") as file,
            _killed_after(ssh, seconds + _CONNECTING),
        ):
            assert ssh.stdout
            head = b"\n"
            for line in ssh.stdout:
                head += line
                if line == f"{BEGIN}\n".encode():
                    break
            shutil.copyfileobj(ssh.stdout, file)
            code = ssh.wait()
            errors.seek(0)
            done = subprocess.CompletedProcess(command, code, head, errors.read())
        answer = self._answer(node, done)
        if answer.code:
            why = _last(answer.err.decode(errors="replace")) or f"exit code {answer.code}"
            raise RefusedError(f"{node}: cannot read {path}: {why}", code=answer.code)

    def command(self, node: str) -> list[str]:
        """Return the `ssh` command for a node: the configuration file, options, and the node's name."""
        return self._ssh_command(node, [])

    def settings(self, node: str) -> dict[str, str]:
        """Return the first value of each option that OpenSSH uses for a node, by its name in lower case."""
        done = _ssh(self._ssh_command(node, ["-G"]), _CONNECTING)
        if done.returncode:
            raise GpupoolError(f"{node}: ssh: {_last(done.stderr.decode(errors='replace'))}")
        return {name: values[0] for name, values in settings.read(done.stdout).items()}

    def host_keys(self, node: str, algorithms: str = "", seconds: float = config.CONNECT_SECONDS) -> list[str]:
        """Return the host key of a machine as "kind base64", without a login.

        `algorithms` is the value of OpenSSH's HostKeyAlgorithms; "" for its default. Unlike ssh-keyscan, this works
        with jumps. NoAnswerError if no SSH server answers.
        """
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            known = Path(folder) / "known_hosts"
            options = {
                "StrictHostKeyChecking": "accept-new",
                "UserKnownHostsFile": config.quoted(known),
                "GlobalKnownHostsFile": "/dev/null",
                "HashKnownHosts": "no",
                "HostKeyAlias": "machine",
                "PreferredAuthentications": "none",
                "ConnectTimeout": f"{seconds:.0f}",
                "ControlPath": "none",
            } | ({"HostKeyAlgorithms": algorithms} if algorithms else {})
            try:
                done = _ssh([*self._ssh_command(node, config.option_words(options)), "true"], seconds + _CONNECTING)
                why = ssh_errors.reason(done.stderr)
            except subprocess.TimeoutExpired:
                why = f"no answer in {seconds:.0f} s"
            lines = known.read_text(errors="replace").splitlines() if known.exists() else []
        if not lines:
            raise NoAnswerError(f"{node}: {why or 'it cannot be reached'}")
        return [" ".join(line.split()[1:3]) for line in lines if line.startswith("machine ")]

    def close(self) -> None:
        """End the shared connections."""
        ends = [_exit(socket) for socket in self._sockets.values() if socket.exists()]
        for end in ends:
            end.wait()

    def _answer(self, node: str, done: "subprocess.CompletedProcess[bytes]") -> Answer:
        """Return the answer of a command; NoAnswerError or RefusedError if it was not started."""
        why = _last(done.stderr.decode(errors="replace"))
        if done.returncode == _SSH_FAILED:
            raise NoAnswerError(f"{node}: {ssh_errors.reason(done.stderr) or self._reason(node)}")
        out = output_of(done.stdout)
        if out is None:
            user = self.settings(node)["user"]
            why = refusal(done.returncode, user) or why or f"the login shell of {user} does not run commands"
            raise RefusedError(f"{node}: {why}", code=done.returncode)
        return Answer(done.returncode, out, done.stderr)

    def _reason(self, node: str) -> str:
        """Return why a new connection to a node fails: for a shared connection, OpenSSH drops errors of jumps."""
        try:
            self.host_keys(node)
        except NoAnswerError as error:
            return str(error).removeprefix(f"{node}: ")
        return "the connection was lost"

    def _command(self, node: str, script: str | Sequence[str], *, shared: bool = True) -> list[str]:
        sharing = {"ControlPath": "none"}
        socket = self._sockets.get(node)
        if shared and socket and len(str(socket).encode()) <= _LONGEST_SOCKET:
            sharing = {"ControlMaster": "auto", "ControlPath": config.quoted(socket)}
            sharing |= {"ControlPersist": str(_PERSIST_SECONDS)}
        return [*self._ssh_command(node, config.option_words(sharing)), remote_command(script, self._door.environment)]

    def _ssh_command(self, node: str, options: Sequence[str]) -> list[str]:
        address = self._addresses.get(node)
        if address is None:
            raise GpupoolError(
                f"{node}: gpupool does not log in there (the inventory has no address, or managed: false)"
            )
        return ["ssh", "-F", str(self.config), *options, *config.options(self._door, address), node]


def _ssh(command: Sequence[str], seconds: float, data: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    try:
        return bounded.run(command, data, seconds, MOST_BYTES)
    except FileNotFoundError:
        raise GpupoolError("ssh is not installed: apt-get install openssh-client") from None


def _exit(socket: Path) -> "subprocess.Popen[bytes]":
    quiet = subprocess.DEVNULL
    command = ["ssh", "-F", "none", "-o", f"ControlPath={config.quoted(socket)}", "-O", "exit", "node"]
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)


@contextmanager
def _killed_after(process: "subprocess.Popen[bytes]", seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _bounded(script: str | Sequence[str], seconds: float) -> list[str]:
    argv = ["sh", "-c", script] if isinstance(script, str) else script
    return ["timeout", "-k", "5", f"{seconds:.0f}", *argv]


def _last(*texts: str) -> str:
    """Return the last line of the first text that is not empty: most commands print the reason of a failure there."""
    return next((lines[-1].strip() for text in texts if (lines := text.strip().splitlines())), "")
