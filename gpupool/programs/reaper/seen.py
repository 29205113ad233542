"""Since when each process has been seen where it should not be; kept from run to run, until the node is booted."""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gpupool.node import files

from .processes import Process


def now() -> float:
    """Return the seconds since boot, those of sleep included, as /proc counts them for processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def since(place: Path, processes: Iterable[Process], new: float) -> dict[str, float]:
    """Return by key of a process when it was first seen, in seconds since boot; `new` for a new one."""
    before: dict[str, float] = {}
    # one that cannot be read gives each process its whole grace again
    with suppress(OSError, ValueError, AttributeError):
        before = {str(key): float(when) for key, when in json.loads(place.read_text()).items()}
    return {process.key: before.get(process.key, new) for process in processes}


def keep(place: Path, first: dict[str, float]) -> None:
    """Write it down for the next run."""
    place.parent.mkdir(mode=0o700, exist_ok=True)
    files.replace(place, json.dumps(first))
