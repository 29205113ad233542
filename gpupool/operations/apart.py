"""Parts of a node that fail alone: a failure ends the other operations of its part, and no others of the node.

A download from a vendor may fail for days. Slurm on the node does not need it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_part: ContextVar[str] = ContextVar("part", default="")


@contextmanager
def part(name: str) -> Iterator[None]:
    """Let the operations that are called within the context be of the part `name`."""
    token = _part.set(name)
    try:
        yield
    finally:
        _part.reset(token)


def present() -> str:
    """Return the part of the operation that is called now; "" if its failure ends all work on the node."""
    return _part.get()
