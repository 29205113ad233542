"""The observer of a long command: a screen, a program, or a test."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpupool.rehearsal.drill.compare import Restored


class Observer:
    """Receives events and ignores them; a subclass overrides the methods that it needs. Methods return at once."""

    def step(self, node: str, what: str) -> None:
        """Receive the current step on a node, or its result. The same step may be repeated."""

    def ended(self, node: str, outcome: str, why: str) -> None:
        """Receive the end of the command's work on a node; `outcome` is a word of the command, such as "done"."""

    def warning(self, node: str, what: str) -> None:
        """Receive a failure that does not stop the command."""

    def waiting(self, nodes: Sequence[str], done: int, total: int) -> AbstractContextManager[object]:
        """Return a context in which the command only waits for these nodes; `done` of `total` nodes are done."""
        return nullcontext()

    def drilled(self, restored: "Restored") -> None:
        """Receive the result of a drill."""
