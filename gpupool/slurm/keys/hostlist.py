"""A hostlist of slurm.conf, read in its own order."""

import re
from collections.abc import Iterator

_WORD = re.compile(r"([^,\[]*)(?:\[([\d,-]+)\])?(?:,|$)")


def expanded(text: str) -> list[str]:
    """Return the names of a hostlist in order; brackets are at the end of a name only."""
    return [name for word in _WORD.findall(text) for name in _names(*word)]


def _names(before: str, inside: str) -> Iterator[str]:
    if not inside:
        yield from [before] if before else []
        return
    for part in inside.split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield f"{before}{number:0{len(first)}}"
