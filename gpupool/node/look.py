"""The result of `look.sh` on a node as data, for acceptance and verify.

Other checks remain separate, because they answer other questions. `programs/health` runs on the node every few minutes,
so a hanging mount may block only one process in total, not one for each check; and the kernel knows if the clock is
synchronised. The facts of a plan check hundreds of mounts in one command, each with its own time limit, and distinguish
a missing mount from a dead one (`mounts_alive.sh`); `drift` needs surplus device files, too (`Devices`).
`upkeep/gpu_probe.py` uses the GPUs in a job. Only `programs/gpus` checks the models of GPUs and their driver: this
check and health run it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["mount", "device", "gpus", "service", "program"]


@dataclass(frozen=True)
class Item:
    """One checked item of a node: `fault` is empty if it works; `mounted` is whether the kernel has a mount there."""

    kind: Kind
    item: str
    fault: str = ""
    mounted: bool = True


@dataclass(frozen=True)
class Look:
    """All items, and the node's clock at the start of the check, in seconds since 1970."""

    clock: float | None
    items: tuple[Item, ...]

    def of(self, kind: Kind) -> tuple[Item, ...]:
        """Return the items of a kind, by name."""
        return tuple(sorted((item for item in self.items if item.kind == kind), key=lambda item: item.item))


def arguments(seconds: int, items: Iterable[tuple[Kind, str]]) -> list[str]:
    """Return the arguments of `look.sh`; `seconds` is the time limit for each mount."""
    return [str(seconds), *(word for item in items for word in item)]


def read(output: str) -> Look:
    """Parse the output of `look.sh`; ValueError if a line is not JSON."""
    rows = [json.loads(line, strict=False) for line in output.splitlines()]
    clock = next((float(row["clock"]) for row in rows if "clock" in row), None)
    return Look(clock, tuple(Item(**row) for row in rows if "clock" not in row))
