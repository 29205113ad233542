"""What all facts share: an answer that was cut short is None, whatever came of it."""

from typing import TypeVar

from pyinfra.api.facts import FactBase

from gpupool.facts.script import whole

T = TypeVar("T")


class Look(FactBase[T | None]):
    """A fact that one `ask` answers. None when the node did not answer, or its answer was cut short."""

    def process(self, output: list[str]) -> T | None:
        """Read the answer if it is whole."""
        lines = whole(output)
        return None if lines is None else self.read(lines)

    def read(self, lines: list[str]) -> T:
        """Return what the lines of a whole answer say."""
        raise NotImplementedError
