"""Commands that a program runs on its node, with a time limit and one form of message where they fail."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class CommandError(Exception):
    """A command did not run, or did not end in time: `reason` says which, the message names the command, too."""

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"{command}: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Result:
    """The output and errors of a command, and its exit code."""

    output: str
    errors: str
    code: int

    @property
    def reason(self) -> str:
        """The last line of a command that failed, or its exit code if it printed nothing."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1] if lines else f"exit code {self.code}"


def run(command: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None) -> Result:
    """Run a command without standard input; CommandError if it is not installed or takes longer than `seconds`.

    Bytes that are not UTF-8 become the replacement character.
    """
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        raise CommandError(" ".join(command), f"no answer within {seconds} s") from error
    except FileNotFoundError as error:
        raise CommandError(command[0], "not installed") from error
    except OSError as error:
        raise CommandError(command[0], error.strerror or str(error)) from error
    return Result(done.stdout, done.stderr, done.returncode)


def output_of(
    command: Sequence[str],
    seconds: float,
    failure: type[Exception],
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return what a command prints; raise `failure` with the command and the reason where it fails or is too slow."""
    try:
        result = run(command, seconds, environment)
    except CommandError as error:
        raise failure(str(error)) from error
    if result.code:
        raise failure(f"{' '.join(command)}: {result.reason}")
    return result.output
