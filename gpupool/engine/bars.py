"""The progress of a run on a terminal: a bar for each stage."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from gpupool.engine.progress import ShownProgress
from gpupool.terminal import plain, styled

REFRESH_SECONDS = 0.1
_BESIDE = 66  # columns for stage, bar, count and time, of which rich would take some for a long operation


class BarProgress(ShownProgress):
    """A bar for each stage, with the current operation beside it and failures above it."""

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
        """Begin a new bar; earlier bars remain on the screen."""
        self._finish()
        self._task = self._bars.add_task(name, total=total, now="")
        self.tick()

    def _finish(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, now="")
            self._bars.stop_task(self._task)

    def step(self, host: str, what: str) -> None:
        """Show the current operation beside the bar."""
        if self._task is not None:
            room = max(1, self._bars.console.width - _BESIDE)
            now = plain(f"{host}: {what}")
            self._bars.update(self._task, now=now if len(now) <= room else f"{now[: room - 1]}…")
            self._draw()

    def advance(self, steps: int = 1) -> None:
        """Advance the bar."""
        if self._task is not None:
            self._bars.advance(self._task, steps)
            self._draw()

    def failed(self, host: str, why: str) -> None:
        """Print the failure as a red line above the bars."""
        self._bars.console.print(styled((f"✗ {host}", "red"), f"  {why}"))

    def output(self, host: str, lines: Sequence[str]) -> None:
        """Print nothing: lines would hide the bars."""

    def note(self, text: str) -> None:
        """Print a line above the bars."""
        self._bars.console.print(styled(text))

    def tick(self) -> None:
        """Redraw the bars, so that the elapsed time is current."""
        self._drawn = 0.0
        self._draw()

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn >= REFRESH_SECONDS:
            self._drawn = now
            self._bars.refresh()
