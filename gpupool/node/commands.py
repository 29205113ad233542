"""Commands that a program runs on its node, with a time limit and one form of error message."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class CommandError(Exception):
    """A command could not start or timed out; `reason` is the message without the command."""

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"{command}: {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Result:
    """Standard output, standard error and exit code of a command."""

    output: str
    errors: str
    code: int

    @property
    def reason(self) -> str:
        """The last line of a failed command, or its exit code if it printed nothing."""
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
    """Return the output of a command; raise `failure` with the command and the reason if it fails or times out."""
    try:
        result = run(command, seconds, environment)
    except CommandError as error:
        raise failure(str(error)) from error
    if result.code:
        raise failure(f"{' '.join(command)}: {result.reason}")
    return result.output
