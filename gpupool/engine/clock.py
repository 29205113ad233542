"""Clocks of nodes that are off: whoever checks a credential by its time, as munge does, refuses such a node."""

from collections.abc import Mapping
from statistics import median

MOST_SECONDS = 60.0


def deviations(ahead: Mapping[str, float]) -> dict[str, str]:
    """Give, in words, the nodes whose clock is off, of how many seconds each is ahead of this machine's.

    Of three nodes or more the middle one is right: this machine's own clock may be the one that is off.
    """
    right = median(ahead.values()) if len(ahead) > 2 else 0.0
    return {name: how_far_off(it - right) for name, it in ahead.items() if abs(it - right) > MOST_SECONDS}


def how_far_off(ahead: float) -> str:
    """Say how a clock is off that is so many seconds ahead."""
    return f"its clock is {abs(ahead):.0f} s {'ahead' if ahead > 0 else 'behind'}; munge refuses it from 300 s on"
