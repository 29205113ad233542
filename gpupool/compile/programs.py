"""The programs of `gpupool/programs` as files of a node."""

from functools import cache
from pathlib import Path

from gpupool.wanted import File

#: Where nodes have them: what a unit's PYTHONPATH says.
HOME = "/usr/local/lib/gpupool"
_SOURCES = Path(__file__).parents[1] / "programs"


@cache
def program(name: str) -> tuple[File, ...]:
    """Return the modules of a program, as they are in this repository."""
    sources = sorted((_SOURCES / name).glob("*.py"))
    return tuple(File(f"{HOME}/{name}/{source.name}", source.read_text()) for source in sources)
