"""The number of cores of this machine that were idle lately, independent of the expected load of its layers."""

import os
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

WINDOW = 15.0  # seconds of the measurement: a layer that waits for Slurm now may be busy in the next second


def busy() -> float:
    """Return the seconds that this machine's cores have worked since it started."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


class Idle:
    """The idle cores in the last `WINDOW` seconds, all of them after the last `forget`."""

    def __init__(
        self, cores: float, worked: Callable[[], float] = busy, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cores, self._worked, self._clock = cores, worked, clock
        self._looks: deque[tuple[float, float]] = deque()

    def forget(self) -> None:
        """Start the measurement again: the load of a new layer is not in earlier measurements."""
        self._looks.clear()

    def cores(self) -> float:
        """Return the average number of idle cores; 0 until a whole window was measured."""
        now = self._clock()
        self._looks.append((now, self._worked()))
        # the window begins with the newest measurement that is at least a window old
        while len(self._looks) > 1 and now - self._looks[1][0] >= WINDOW:
            self._looks.popleft()
        since, worked = self._looks[0]
        if now - since < WINDOW:
            return 0
        return max(0.0, self._cores - (self._looks[-1][1] - worked) / (now - since))
