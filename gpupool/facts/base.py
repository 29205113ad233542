"""The base class of all facts: an incomplete answer is None."""

from typing import TypeVar

from pyinfra.api.facts import FactBase

from gpupool.facts.script import complete_lines

T = TypeVar("T")


class Fact(FactBase[T | None]):
    """A fact from one `ask`; None if the node did not answer or the answer is incomplete."""

    def process(self, output: list[str]) -> T | None:
        """Read the answer if it is complete."""
        lines = complete_lines(output)
        return None if lines is None else self.read(lines)

    def read(self, lines: list[str]) -> T:
        """Return the value of the fact from the lines of a complete answer."""
        raise NotImplementedError
