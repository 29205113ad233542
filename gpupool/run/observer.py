"""The observer of a long command: a person's screen, a program, or a test."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpupool.rehearsal.drill.compare import Restored


class Observer:
    """Gets events as they come, and ignores them; a subclass overrides what it wants to see. Methods return at once."""

    def step(self, node: str, what: str) -> None:
        """`what` is being done on the node, or is what came of it. The same step may come many times."""

    def ended(self, node: str, outcome: str, why: str) -> None:
        """The command does no more on this node; `outcome` is one of the command's own words, such as "done"."""

    def warning(self, node: str, what: str) -> None:
        """Something failed that does not stop the command."""

    def waiting(self, nodes: Sequence[str], done: int, total: int) -> AbstractContextManager[object]:
        """Within the context, the command only waits for these nodes; `done` of `total` nodes are done."""
        return nullcontext()

    def drilled(self, restored: "Restored") -> None:
        """A drill is over."""
