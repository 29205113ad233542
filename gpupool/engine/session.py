"""The layer between pyinfra and a host's connector: it counts commands, caches facts and keeps the last failure.

The first facts of all operations are asked in one command, and cached like other facts.
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


FACT_GRACE_SECONDS = 30.0  # after the limit that the node applies to the fact's command


class _Fact:
    """The value of `print_output` while pyinfra reads a fact: false, but distinct from an operation's `False`."""

    def __bool__(self) -> bool:
        return False


FACT = _Fact()


class UnansweredError(BaseException):
    """Raised to end an operation at its first question while questions are gathered."""


@dataclass
class FactValidity:
    """The validity of cached facts, for all hosts of a run: any write to any host invalidates all facts.

    A change on one host can change a fact of another (a daemon that answers, an export that can be mounted). While an
    operation's Python function runs, facts are not cached: it may poll.
    """

    writes: int = 0
    functions: int = 0
    gathering: bool = False  # nothing is sent: questions are noted, and sent together afterwards

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Invalidate the facts that were read before and within the context."""
        self.writes += 1
        try:
            yield
        finally:
            self.writes += 1

    @contextmanager
    def gather(self) -> Iterator[None]:
        """Gather the questions of operations within the context, and send nothing."""
        self.gathering = True
        try:
            yield
        finally:
            self.gathering = False

    @contextmanager
    def function(self) -> Iterator[None]:
        """Cache no facts within the context, while a Python function of an operation runs."""
        self.functions += 1
        try:
            with self.writing():
                yield
        finally:
            self.functions -= 1


class Session:
    """A wrapper of one host's connector."""

    def __init__(self, host: "Host", validity: FactValidity) -> None:
        connector = host.connector
        self.commands = 0
        self.failure: str | None = None
        self.reason: Reason | None = None  # of the failure, if the command gave one
        self.before_change: Callable[[], None] | None = None  # called before each command that may change the host
        self._validity = validity
        self._facts: dict[str, tuple[int, list[OutputLine]]] = {}
        self._noted: dict[str, tuple[Question, dict[str, Any]]] = {}
        self._connect = connector.connect
        connector.connect = self._connects  # type: ignore[method-assign]
        self._run = connector.run_shell_command
        # Set on the instance, so that the connector's own calls (sudo uploads) are counted, too.
        connector.run_shell_command = self._shell  # type: ignore[method-assign]
        connector.put_file = self._counted(connector.put_file)  # type: ignore[method-assign]
        connector.get_file = self._counted(connector.get_file)  # type: ignore[method-assign]

    def ask_ahead(self) -> None:
        """Send all noted questions and cache the answers; an operation asks again if an answer is missing."""
        alike: dict[str, dict[str, tuple[Question, dict[str, Any]]]] = {}
        for key, noted in self._noted.items():
            alike.setdefault(key.partition("\0")[2], {})[key] = noted
        self._noted = {}
        for group in alike.values():
            if len(group) == 1:
                continue
            batch = Batch({key: question for key, (question, _) in group.items()})
            arguments = {**next(iter(group.values()))[1], "_stdin": batch.script}
            now = self._validity.writes
            with suppress(Exception):  # the operation that asks again gets the error
                _, output = self._within(batch.limit, batch.command, arguments)
                for key, lines in batch.answers(output.stdout_lines).items():
                    self._facts[key] = now, [OutputLine("stdout", line) for line in lines]

    def _connects(self) -> None:
        if self._validity.gathering:
            raise UnansweredError
        self._connect()

    def _shell(
        self, command: StringCommand, print_output: Any = False, print_input: bool = False, **arguments: Any
    ) -> tuple[bool, CommandOutput]:
        if print_output is not FACT:
            if self._validity.gathering:
                raise UnansweredError
            self._announce()
            with self._validity.writing():
                return self._send(command, arguments)
        raw = command if isinstance(command, str) else command.get_raw_value()
        key = f"{raw}\0{sorted(arguments.items(), key=lambda item: item[0])!r}"
        now, keeps = self._validity.writes, not self._validity.functions
        if keeps and key in self._facts and self._facts[key][0] == now:
            return True, CommandOutput(list(self._facts[key][1]))
        if self._validity.gathering:
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
        """Send a fact's command; TimeoutError if the answer takes longer than its limit and `FACT_GRACE_SECONDS`.

        The node cannot kill a command that waits for a disk that hangs.
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
            with self._validity.writing():
                try:
                    return transfer(*args, **kwargs)
                except Exception as error:
                    self.failure = reason(error)
                    raise

        return counted


def _timed_out(error: Exception, arguments: dict[str, Any]) -> str | None:
    seconds = arguments.get("_timeout")
    return f"took longer than {seconds} s" if isinstance(error, TimeoutError) and seconds else None
