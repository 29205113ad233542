"""What a person sees while a run goes on: bars on a terminal, timed lines elsewhere."""

import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from gpupool.terminal import plain, styled

SILENCE_SECONDS = 10
REFRESH_SECONDS = 0.1
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


class BarProgress(ShownProgress):
    """A bar for each stage, the current operation beside it, failures above as they come."""

    def __init__(self, console: Console) -> None:
        self._bars = Bars(
            TextColumn("[bold]{task.description:<8}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[now]}", style="dim", markup=False),
            console=console,
            auto_refresh=False,
        )
        self._task: TaskID | None = None
        self._drawn = 0.0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._finish()
        self._bars.refresh()
        self._bars.stop()

    def stage(self, name: str, total: int) -> None:
        """Begin a new bar; the ones before it stay."""
        self._finish()
        self._task = self._bars.add_task(name, total=total, now="")
        self.tick()

    def _finish(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, now="")
            self._bars.stop_task(self._task)

    def step(self, host: str, what: str) -> None:
        """Show it beside the bar."""
        if self._task is not None:
            self._bars.update(self._task, now=plain(f"{host}: {what}"))
            self._draw()

    def advance(self, steps: int = 1) -> None:
        """Move the bar on."""
        if self._task is not None:
            self._bars.advance(self._task, steps)
            self._draw()

    def failed(self, host: str, why: str) -> None:
        """One red line above the bars."""
        self._bars.console.print(styled((f"✗ {host}", "red"), f"  {why}"))

    def note(self, text: str) -> None:
        """One line above the bars."""
        self._bars.console.print(styled(text))

    def tick(self) -> None:
        """Redraw, so that the clocks run."""
        self._drawn = 0.0
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn >= REFRESH_SECONDS:
            self._drawn = now
            self._bars.refresh()


class LineProgress(ShownProgress):
    """For logs and pipes: a line when a stage ends, one for each failure, one for every ten seconds of silence."""

    def __init__(self, console: Console) -> None:
        self._console = console
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
        self._console.print(styled(f"{self._printed - self._started:6.1f} s  {text}"), soft_wrap=True)


def shown(console: Console | None = None) -> ShownProgress:
    """The display that fits the console (standard error unless given); use it in a `with` block."""
    console = console or Console(stderr=True)
    return BarProgress(console) if console.is_terminal else LineProgress(console)
