"""The first sighting of each selected process, or of its user, kept from run to run until the next boot."""

import json
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gpupool.node import files


def now() -> float:
    """Return the seconds since boot, including sleep, as /proc counts them for processes."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def since(place: Path, keys: Iterable[str], new: float) -> dict[str, float]:
    """Return when each key was first seen, in seconds since boot; `new` for a key that the last run did not see."""
    before: dict[str, float] = {}
    # with an unreadable file, each key gets its whole grace again
    with suppress(OSError, ValueError, AttributeError):
        before = {str(key): float(when) for key, when in json.loads(place.read_text()).items()}
    return {key: before.get(key, new) for key in keys}


def keep(place: Path, first: dict[str, float]) -> None:
    """Write the first sightings for the next run."""
    place.parent.mkdir(mode=0o700, exist_ok=True)
    files.replace(place, json.dumps(first))
