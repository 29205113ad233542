"""How many cores of this machine have had nothing to do lately, whatever its layers were thought to keep busy."""

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

WINDOW = 15.0  # seconds that are looked at: a layer that waits for Slurm now may be busy in the next second


def busy() -> float:
    """Return how many seconds this machine's cores have worked since it started."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


class Idle:
    """The cores that had nothing to do in the last `WINDOW` seconds, all of them after the last `forget`."""

    def __init__(
        self, cores: float, worked: Callable[[], float] = busy, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cores, self._worked, self._clock = cores, worked, clock
        self._looks: deque[tuple[float, float]] = deque()

    def forget(self) -> None:
        """Begin anew: what has just begun is not seen in what was before it."""
        self._looks.clear()

    def cores(self) -> float:
        """Return how many cores were idle on average; 0 as long as that has not been looked at for a whole window."""
        now = self._clock()
        self._looks.append((now, self._worked()))
        # the newest look that is a window old, or older, is where the window begins
        while len(self._looks) > 1 and now - self._looks[1][0] >= WINDOW:
            self._looks.popleft()
        since, worked = self._looks[0]
        if now - since < WINDOW:
            return 0
        return max(0.0, self._cores - (self._looks[-1][1] - worked) / (now - since))
