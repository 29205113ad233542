"""Between pyinfra and a host's connector: counts commands, keeps facts that still hold, knows what failed last.

Facts that many operations begin with are asked ahead, all in one command, and kept like any other.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gevent
from pyinfra.api.command import StringCommand
from pyinfra.connectors.util import CommandOutput, OutputLine

from gpupool.engine.ahead import Batch
from gpupool.engine.explain import last_line, reason
from gpupool.facts.script import Question, limit_of
from gpupool.reasons import Reason, read

if TYPE_CHECKING:
    from pyinfra.api import Host


FACT_GRACE_SECONDS = 30.0  # after the limit that a fact has on the node itself


class _Fact:
    """What pyinfra hands down as `print_output` when it reads a fact: false, yet not an operation's `False`."""

    def __bool__(self) -> bool:
        return False


FACT = _Fact()


class UnansweredError(BaseException):
    """Ends an operation at its first question, while questions are gathered."""


@dataclass
class Freshness:
    """Shared by all hosts of a run: a fact holds until anything is written anywhere.

    What one host does can change what another one sees (a daemon that answers, an export that can be mounted),
    so a write to any host makes all facts stale. While a function runs nothing is kept: it may be polling.
    """

    writes: int = 0
    functions: int = 0
    gathering: bool = False  # nothing is sent now: facts are noted, and asked ahead afterwards

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Facts that were read before or during the write do not outlive it."""
        self.writes += 1
        try:
            yield
        finally:
            self.writes += 1

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Operations begin, and nothing is sent."""
        self.gathering = True
        try:
            yield
        finally:
            self.gathering = False

    @contextmanager
    def function(self) -> Iterator[None]:
        """A Python function of an operation is running."""
        self.functions += 1
        try:
            with self.writing():
                yield
        finally:
            self.functions -= 1


class Session:
    """Wraps one host's connector, whichever it is."""

    def __init__(self, host: "Host", freshness: Freshness) -> None:
        connector = host.connector
        self.commands = 0
        self.failure: str | None = None
        self.reason: Reason | None = None  # of the failure, if the command gave one
        self.before_change: Callable[[], None] | None = None  # called before each command that is no question
        self._freshness = freshness
        self._facts: dict[str, tuple[int, list[OutputLine]]] = {}
        self._noted: dict[str, tuple[Question, dict[str, Any]]] = {}
        self._connect = connector.connect
        connector.connect = self._connects  # type: ignore[method-assign]
        self._run = connector.run_shell_command
        # Set on the instance, so that a connector's own calls (sudo uploads) are counted as well.
        connector.run_shell_command = self._shell  # type: ignore[method-assign]
        connector.put_file = self._counted(connector.put_file)  # type: ignore[method-assign]
        connector.get_file = self._counted(connector.get_file)  # type: ignore[method-assign]

    def ask_ahead(self) -> None:
        """Ask all that was noted, and keep the answers; what has none is asked again by whoever needs it."""
        alike: dict[str, dict[str, tuple[Question, dict[str, Any]]]] = {}
        for key, noted in self._noted.items():
            alike.setdefault(key.partition("\0")[2], {})[key] = noted
        self._noted = {}
        for group in alike.values():
            if len(group) == 1:
                continue
            batch = Batch({key: question for key, (question, _) in group.items()})
            arguments = {**next(iter(group.values()))[1], "_stdin": batch.script}
            now = self._freshness.writes
            with suppress(Exception):  # whoever asks again is told why
                _, output = self._within(batch.limit, batch.command, arguments)
                for key, lines in batch.answers(output.stdout_lines).items():
                    self._facts[key] = now, [OutputLine("stdout", line) for line in lines]

    def _connects(self) -> None:
        if self._freshness.gathering:
            raise UnansweredError
        self._connect()

    def _shell(
        self, command: StringCommand, print_output: Any = False, print_input: bool = False, **arguments: Any
    ) -> tuple[bool, CommandOutput]:
        if print_output is not FACT:
            if self._freshness.gathering:
                raise UnansweredError
            self._announce()
            with self._freshness.writing():
                return self._send(command, arguments)
        raw = command if isinstance(command, str) else command.get_raw_value()
        key = f"{raw}\0{sorted(arguments.items(), key=lambda item: item[0])!r}"
        now, keeps = self._freshness.writes, not self._freshness.functions
        if keeps and key in self._facts and self._facts[key][0] == now:
            return True, CommandOutput(list(self._facts[key][1]))
        if self._freshness.gathering:
            if isinstance(command, Question):
                self._noted[key] = command, arguments
            raise UnansweredError
        ok, output = self._within(limit_of(raw), command, arguments)
        if ok and keeps:
            self._facts[key] = (now, list(output.combined_lines))
        return ok, output

    def _announce(self) -> None:
        if self.before_change:
            self.before_change()

    def _within(
        self, limit: int | None, command: StringCommand, arguments: dict[str, Any]
    ) -> tuple[bool, CommandOutput]:
        """Send a fact's command, and wait for it a little longer than it may take on the node, but not for ever.

        What waits for a disk that hangs cannot be killed there.
        """
        if limit is None:
            return self._send(command, arguments)
        late = gevent.Timeout(limit + FACT_GRACE_SECONDS)
        try:
            with late:
                return self._send(command, arguments)
        except gevent.Timeout as timeout:
            if timeout is not late:
                raise
            self.failure = f"no answer within {limit} s, and the command cannot be killed on the node"
            raise TimeoutError(self.failure) from None

    def _send(self, command: StringCommand, arguments: dict[str, Any]) -> tuple[bool, CommandOutput]:
        self.commands += 1
        try:
            ok, output = self._run(command, print_output=False, print_input=False, **arguments)
        except Exception as error:
            self.failure = _timed_out(error, arguments) or reason(error)
            raise
        if not ok:
            self.failure = last_line(output.stderr_lines) or last_line(output.stdout_lines)
            self.reason = read(output.stderr_lines)
        return ok, output

    def _counted(self, transfer: Callable[..., bool]) -> Callable[..., bool]:
        def counted(*args: Any, **kwargs: Any) -> bool:
            self.commands += 1
            self._announce()
            with self._freshness.writing():
                try:
                    return transfer(*args, **kwargs)
                except Exception as error:
                    self.failure = reason(error)
                    raise

        return counted


def _timed_out(error: Exception, arguments: dict[str, Any]) -> str | None:
    seconds = arguments.get("_timeout")
    return f"took longer than {seconds} s" if isinstance(error, TimeoutError) and seconds else None
