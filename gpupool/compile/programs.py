"""The programs of `gpupool/programs` as files of a node."""

from collections.abc import Iterator
from pathlib import Path

from gpupool.wanted import File

#: Where nodes have them: what a unit's PYTHONPATH says.
HOME = "/usr/local/lib/gpupool"
_SOURCES = Path(__file__).parents[1] / "programs"


def program(name: str) -> Iterator[File]:
    """Yield the modules of a program, as they are in this repository."""
    for source in sorted((_SOURCES / name).glob("*.py")):
        yield File(f"{HOME}/{name}/{source.name}", source.read_text())
