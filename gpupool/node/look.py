"""The look at a node by `look.sh`, as data: acceptance and verify judge it.

Other looks stay apart, because they answer other questions. `programs/health` runs on the node every few minutes: a
mount that hangs may hold one process there in all, not one per look, and the kernel knows whether the clock is
synchronised. The facts of a plan ask for hundreds of mounts in one command, each with its own time, and tell a missing
mount from a dead one (`mounts_alive.sh`); `drift` needs surplus device files, too (`Devices`). `upkeep/gpu_probe.py`
uses the GPUs in a job. The models of GPUs and their driver are judged in one place, `programs/gpus`: this look and
health run it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["mount", "device", "gpus", "service", "program"]


@dataclass(frozen=True)
class Item:
    """One item of a node: `fault` is empty where it is well; `mounted` is whether the kernel has a mount there."""

    kind: Kind
    item: str
    fault: str = ""
    mounted: bool = True


@dataclass(frozen=True)
class Look:
    """All items, and the node's clock when the look began, in seconds since 1970."""

    clock: float | None
    items: tuple[Item, ...]

    def of(self, kind: Kind) -> tuple[Item, ...]:
        """Return the items of a kind, by name."""
        return tuple(sorted((item for item in self.items if item.kind == kind), key=lambda item: item.item))


def arguments(seconds: int, items: Iterable[tuple[Kind, str]]) -> list[str]:
    """Return the arguments of `look.sh`; `seconds` is the time for each mount."""
    return [str(seconds), *(word for item in items for word in item)]


def read(output: str) -> Look:
    """Read what `look.sh` printed; ValueError where a line is not JSON of it."""
    rows = [json.loads(line, strict=False) for line in output.splitlines()]
    clock = next((float(row["clock"]) for row in rows if "clock" in row), None)
    return Look(clock, tuple(Item(**row) for row in rows if "clock" not in row))
