"""The progress of a long command on a screen: a line with the time for each event of a node."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from gpupool.run.observer import Observer
from gpupool.terminal import Screen, styled
from gpupool.wording import counted

if TYPE_CHECKING:
    from gpupool.rehearsal.drill.compare import Restored

#: Colours of a node's outcome.
COLOURS = {"done": "green", "failed": "red", "left alone": "yellow", "not begun": "yellow"}


class Watch(Observer):
    """An observer that prints each event of a node once."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._last: dict[str, str] = {}

    def step(self, node: str, what: str) -> None:
        """Print the step of a node, unless its last line is the same."""
        self._print(node, what, "bold")

    def ended(self, node: str, outcome: str, why: str) -> None:
        """Print the outcome of a node in the outcome's colour."""
        self._print(node, f"{outcome}{f': {why}' if why else ''}", COLOURS.get(outcome, "bold"))

    def warning(self, node: str, what: str) -> None:
        """Print a warning in yellow."""
        self._print(node, what, "yellow")

    def waiting(self, nodes: Sequence[str], done: int, total: int) -> AbstractContextManager[object]:
        """Show on a terminal which nodes the command waits for."""
        if not self._screen.is_terminal:
            return nullcontext()
        return self._screen.status(styled(f"{done} of {counted(total, 'node')} done; waiting for {', '.join(nodes)}"))

    def drilled(self, restored: "Restored") -> None:
        """Print the table of a drill."""
        for line, style in restored.lines():
            self._screen.print(line, style=style)

    def _print(self, node: str, what: str, style: str) -> None:
        if self._last.get(node) != what:
            self._last[node] = what
            self._screen.print(styled(f"{time.strftime('%H:%M:%S')}  ", (node, style), f"  {what}"))
