"""The next nodes to take out of service, within the bounds for all nodes and for each lab."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from gpupool.upkeep.packages import Scope
from gpupool.upkeep.shares import GPUS, Share, losses


@dataclass(frozen=True)
class Bounds:
    """The limits: at most `at_most` nodes out of service, and `per_lab` GPUs that a lab may lack (None: no limit)."""

    at_most: int
    per_lab: int | None = None


@dataclass(frozen=True)
class MaintenanceOptions:
    """Options of maintenance: `reboot` reboots every node; a node whose jobs take longer than `patience` is resumed.

    `patience` is in seconds; None waits without limit. `packages` are those of the system to raise; None: none.
    """

    bounds: Bounds
    reboot: bool = False
    patience: float | None = None
    packages: Scope | None = None


def next_nodes(
    waiting: Sequence[str],
    working: Collection[str],
    out: Collection[str],
    bounds: Bounds,
    shares: Sequence[Share],
) -> tuple[str, ...]:
    """Return the nodes in `waiting` to begin now, in their order.

    `working` are the nodes that maintenance has taken, including nodes that failed; `out` are all other nodes
    out of service, which count only for `per_lab`.
    """
    begun: list[str] = []
    for name in waiting:
        if len(working) + len(begun) >= bounds.at_most:
            break
        if not too_much(bounds, shares, {*working, *begun, *out, name}):
            begun.append(name)
    return tuple(begun)


def too_much(bounds: Bounds, shares: Sequence[Share], out: Iterable[str]) -> dict[str, int]:
    """Return the labs that may lack more GPUs than allowed when these nodes are out of service, with how many."""
    if bounds.per_lab is None:
        return {}
    units = {share.account: share.unit for share in shares}
    lost = losses(shares, set(out))
    return {name: count for name, count in lost.items() if units[name] == GPUS and count > bounds.per_lab}
