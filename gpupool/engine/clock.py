"""Find nodes whose clock is wrong: munge refuses their credentials, because it compares times."""

from collections.abc import Mapping
from statistics import median

MOST_SECONDS = 60.0


def deviations(ahead: Mapping[str, float]) -> dict[str, str]:
    """Return the nodes whose clock is wrong, each with a message; `ahead` is in seconds, relative to this machine.

    With three or more nodes, the median counts as right: the clock of this machine may be wrong.
    """
    right = median(ahead.values()) if len(ahead) > 2 else 0.0
    return {
        name: how_far_off(seconds - right) for name, seconds in ahead.items() if abs(seconds - right) > MOST_SECONDS
    }


def how_far_off(ahead: float) -> str:
    """Return the message about a clock that is `ahead` seconds ahead."""
    return f"its clock is {abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}; munge refuses it from 300 s on"


def fault(clock: float, began: float, ended: float) -> str:
    """Return the message about a clock that a node read between `began` and `ended`, or "" if it is right.

    All three are in seconds since 1970. A slow answer does not count as a wrong clock.
    """
    ahead = clock - ended if clock > ended else min(clock - began, 0.0)
    return how_far_off(ahead) if abs(ahead) > MOST_SECONDS else ""
