"""Record pyinfra's log: keep it off the terminal, write it to a file, and read diffs and exceptions from it."""

import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import gevent
import pyinfra
from pyinfra.context import ctx_host

from gpupool.engine.explain import plain

if TYPE_CHECKING:
    from pyinfra.api import Host

#: Receives a host and the lines of its log.
Show = Callable[[str, Sequence[str]], None]
# These lines are not logged, because they are frequent or contain arguments of operations, such as whole files.
_UNWANTED = ("Starting operation", "Starting nested", "--> Starting")


@dataclass
class Heard:
    """The diffs and the last exception of one host, from pyinfra's log."""

    diffs: dict[str, list[str]] = field(default_factory=dict)  # by operation hash
    error: BaseException | None = None  # the last exception that pyinfra dropped


class Recorder(logging.Handler):
    """A log handler for pyinfra and paramiko; it writes INFO and above to `sink`, and gives `show` the same lines."""

    def __init__(self, heard: Mapping["Host", Heard], sink: TextIO | None, show: Show | None = None) -> None:
        super().__init__(logging.INFO)
        self._heard = heard
        self._sink = sink
        self._show = show
        self.log_failure: str | None = None  # why the log is incomplete

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record and keep its diff or exception; if the log cannot be written, the run continues without it."""
        text = plain(record.getMessage())
        host = ctx_host.get()
        heard = self._heard.get(host) if host is not None else None
        if host is not None:
            text = text.removeprefix(f"[{host.name}]")
        if heard is not None:
            self._mine(host, heard, record, text)
        if not text.strip() or text.lstrip().startswith(_UNWANTED):
            return
        where = host.name if host is not None else record.name
        if self._show:
            self._show(where, text.splitlines())
        if self._sink and not self.log_failure:
            clock = time.strftime("%H:%M:%S", time.localtime(record.created))
            try:
                self._sink.write(f"{clock} {record.levelname:<7} {where}: {text.rstrip()}\n")
                if record.exc_info:
                    self._sink.write("".join(traceback.format_exception(*record.exc_info)))
            except OSError as error:
                self.log_failure = error.strerror or str(error)

    @staticmethod
    def _mine(host: "Host", heard: Heard, record: logging.LogRecord, text: str) -> None:
        if record.levelno >= logging.WARNING:
            # pyinfra logs while it handles an exception, and drops the exception afterwards.
            heard.error = sys.exc_info()[1] or heard.error
        elif record.levelno == logging.INFO and host.in_op and host.current_op_hash and text.strip():
            # Lines that an operation logs while it is evaluated are a diff; pyinfra indents it by two.
            heard.diffs.setdefault(host.current_op_hash, []).append(text.removeprefix("  ").rstrip())


@contextmanager
def recording(heard: Mapping["Host", Heard], log: Path | None, show: Show | None = None) -> Iterator[Recorder]:
    """Write everything that pyinfra, paramiko and gevent would print to `log` (mode 0600), if there is one.

    `show` gets the same lines, with the name of their host.
    """
    sink = os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", buffering=1) if log else None
    handler = Recorder(heard, sink, show)
    hub = gevent.get_hub()
    quiet = {pyinfra.logger: logging.INFO, logging.getLogger("paramiko"): logging.ERROR}
    before = [(logger, logger.level, logger.propagate, logger.handlers[:]) for logger in quiet]
    for logger, level in quiet.items():
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
    # By default, gevent prints the traceback of a greenlet that fails to standard error.
    hub.print_exception = lambda context, kind, error, trace: pyinfra.logger.warning("in %s: %s", kind, error)
    try:
        yield handler
    finally:
        del hub.print_exception
        for logger, level, propagate, handlers in before:
            logger.handlers[:] = handlers
            logger.setLevel(level)
            logger.propagate = propagate
        if sink:
            # close() writes the rest of the buffer again, which may fail again
            with suppress(OSError):
                sink.close()


@contextmanager
def unheard() -> Iterator[None]:
    """Drop pyinfra's log messages within the context."""
    pyinfra.logger.disabled = True
    try:
        yield
    finally:
        pyinfra.logger.disabled = False
