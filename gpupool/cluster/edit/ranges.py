"""Remove a node from ranges and selectors; other parts of them stay as they are."""

import re

from gpupool.cluster.node_table import expand
from gpupool.slurm.hostlists import fold

_PARTS = re.compile(r"([,!&^])(?![^\[]*\])")  # between sets of nodes, not within brackets


def without(selector: str, name: str) -> str:
    """Return a selector that does not name a node; ValueError if it would then select no node.

    Groups such as `@compute` stay: a node without an entry is in none of them.
    """
    first, *rest = _PARTS.split(selector)
    parts = [("", first), *zip(rest[::2], rest[1::2], strict=True)]
    kept: list[tuple[str, str]] = []
    for sign, part in parts:
        left = _less(part, name)
        if left:
            kept.append((sign, left))
        elif sign in ("", "&"):
            kept.append((sign, ""))
    if kept[0][1] == "" and (len(kept) == 1 or kept[1][0] != ","):
        raise ValueError(f"{selector!r} would select no node without {name}")
    if any(sign == "&" and not part for sign, part in kept):
        raise ValueError(f"{selector!r} would select no node without {name}")
    kept = [part for part in kept if part[1]]
    return kept[0][1] + "".join(f"{sign}{part}" for sign, part in kept[1:])


def _less(part: str, name: str) -> str:
    if re.search(r"[@*?]", part):
        return part
    try:
        names = expand(part)
    except ValueError:
        return part
    return fold([other for other in names if other != name]) if name in names else part
