"""What a person sees while a run goes on: bars on a terminal, timed lines elsewhere."""

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from gpupool.terminal import Screen, styled

SILENCE_SECONDS = 10
UNITS = {"Connect": "nodes", "Prepare": "nodes", "Execute": "operations", "Rehearse": "promises"}


class Progress(Protocol):
    """What the engine tells while it works; every call returns at once."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins, with so many steps."""

    def step(self, host: str, what: str) -> None:
        """What is being done now on a host."""

    def advance(self, steps: int = 1) -> None:
        """So many steps of the stage are over."""

    def failed(self, host: str, why: str) -> None:
        """A host failed and is left alone from here on."""

    def note(self, text: str) -> None:
        """Something else a person wants to know now."""

    def tick(self) -> None:
        """Time goes by: called about twice a second, whatever happens."""


class Silence:
    """Shows nothing."""

    def _nothing(self, *_: object) -> None:
        pass

    stage = step = advance = failed = note = tick = _nothing


class ShownProgress(Progress, AbstractContextManager["ShownProgress"], Protocol):
    """A progress display that is up while its `with` block runs."""


class LineProgress(ShownProgress):
    """For logs and pipes: a line when a stage ends, one for each failure, one for every ten seconds of silence."""

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
        """Sum up the stage before, begin this one."""
        self._finish()
        self._name, self._done, self._total, self._failed, self._now = name, 0, total, 0, ""

    def _finish(self) -> None:
        if self._name:
            failed = f", {self._failed} failed" if self._failed else ""
            self._say(f"{self._name}: {self._done} of {self._total} {UNITS.get(self._name, 'steps')}{failed}")
        self._name = None

    def step(self, host: str, what: str) -> None:
        """Kept for the next line after a silence."""
        self._now = f"{host}: {what}"

    def advance(self, steps: int = 1) -> None:
        """Count."""
        self._done += steps

    def failed(self, host: str, why: str) -> None:
        """Say so at once."""
        self._failed += 1
        self._say(f"failed: {host}: {why}")

    def note(self, text: str) -> None:
        """Say so at once."""
        self._say(text)

    def tick(self) -> None:
        """Break a silence that lasts too long."""
        if self._name and time.monotonic() - self._printed >= SILENCE_SECONDS:
            self._say(f"{self._name}: {self._done} of {self._total}; now {self._now or 'waiting'}")

    def _say(self, text: str) -> None:
        self._printed = time.monotonic()
        self._screen.print(styled(f"{self._printed - self._started:6.1f} s  {text}"), soft_wrap=True)


def shown(screen: Screen | None = None) -> ShownProgress:
    """Return the display that fits the screen (standard error unless given), to be used in a `with` block."""
    screen = screen or Screen(stderr=True)
    if not screen.is_terminal:
        return LineProgress(screen)
    from gpupool.engine.bars import BarProgress

    return BarProgress(screen.console)
