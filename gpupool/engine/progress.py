"""The progress display of a run: bars on a terminal, lines with times elsewhere."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from gpupool.terminal import Screen, styled

SILENCE_SECONDS = 10
UNITS = {"Connect": "nodes", "Prepare": "nodes", "Foresee": "nodes", "Execute": "operations", "Rehearse": "promises"}


class Progress(Protocol):
    """The events that the engine reports to a progress display; every call returns at once."""

    def stage(self, name: str, total: int) -> None:
        """Begin a stage of `total` steps."""

    def step(self, host: str, what: str) -> None:
        """Show the current work on a host."""

    def advance(self, steps: int = 1) -> None:
        """Count `steps` steps of the stage as done."""

    def failed(self, host: str, why: str) -> None:
        """Show that a host has failed; the run skips it from now on."""

    def output(self, host: str, lines: Sequence[str]) -> None:
        """Show lines of pyinfra's log about a host, if the display is for details."""

    def note(self, text: str) -> None:
        """Show a line of text."""

    def tick(self) -> None:
        """Update the display; called about twice a second."""


class Silence:
    """A progress display that shows nothing."""

    def _nothing(self, *_: object) -> None:
        pass

    stage = step = advance = failed = output = note = tick = _nothing


class ShownProgress(Progress, AbstractContextManager["ShownProgress"], Protocol):
    """A progress display that is shown while its `with` block runs."""


class LineProgress(ShownProgress):
    """A display for logs and pipes: a line at the end of a stage, for each failure, and after 10 s without a line."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._started = self._printed = time.monotonic()
        self._name: str | None = None
        self._done = self._total = self._failed = 0
        self._now = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()

    def stage(self, name: str, total: int) -> None:
        """Print a summary of the previous stage, and begin this one."""
        self._finish()
        self._name, self._done, self._total, self._failed, self._now = name, 0, total, 0, ""

    def _finish(self) -> None:
        if self._name:
            failed = f", {self._failed} failed" if self._failed else ""
            self._say(f"{self._name}: {self._done} of {self._total} {UNITS.get(self._name, 'steps')}{failed}")
        self._name = None

    def step(self, host: str, what: str) -> None:
        """Remember the current work; `tick` prints it."""
        self._now = f"{host}: {what}"

    def advance(self, steps: int = 1) -> None:
        """Count `steps` steps as done."""
        self._done += steps

    def failed(self, host: str, why: str) -> None:
        """Print the failure."""
        self._failed += 1
        self._say(f"failed: {host}: {why}")

    def output(self, host: str, lines: Sequence[str]) -> None:
        """Print nothing: the lines are for `VerboseProgress`."""

    def note(self, text: str) -> None:
        """Print the text."""
        self._say(text)

    def tick(self) -> None:
        """Print the current work if no line was printed for `SILENCE_SECONDS`."""
        if self._name and time.monotonic() - self._printed >= SILENCE_SECONDS:
            self._say(f"{self._name}: {self._done} of {self._total}; now {self._now or 'waiting'}")

    def _say(self, text: str) -> None:
        self._printed = time.monotonic()
        self._screen.print(styled(f"{self._printed - self._started:6.1f} s  {text}"), soft_wrap=True)


class VerboseProgress(LineProgress):
    """A display of all details: each operation on each host when it begins, and pyinfra's log."""

    def step(self, host: str, what: str) -> None:
        """Print the operation, with the steps of the stage that are done."""
        super().step(host, what)
        self._say(f"{self._name}: {self._done} of {self._total}; now {self._now}")

    def output(self, host: str, lines: Sequence[str]) -> None:
        """Print each line of pyinfra's log after its host."""
        for line in lines:
            if line.strip():
                self._say(f"{host} | {line.strip()}")


def shown(screen: Screen | None = None, *, verbose: bool = False) -> ShownProgress:
    """Return the display that fits the screen (standard error unless given), to be used in a `with` block."""
    screen = screen or Screen(stderr=True)
    if verbose:
        return VerboseProgress(screen)
    if not screen.is_terminal:
        return LineProgress(screen)
    from gpupool.engine.bars import BarProgress

    return BarProgress(screen.console)
