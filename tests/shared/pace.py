"""Time limits of a test: multiples of a known piece of work that is measured on this machine, not fixed seconds."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

STARTS = 300  # a test stops waiting after the time in which a plan could start so many times
_OFTEN, _RARELY = 0.02, 1.0  # seconds between two looks, at the start and later
_AT_LEAST = 30.0  # seconds before the pace is measured: most waits are over by then, and the measurement costs a start


def start() -> float:
    """Return how many seconds the imports of a plan take on this machine now: half a second on two idle cores.

    A fixed piece of work, so not `gpupool --version`, which imports hardly anything.
    """
    began = time.monotonic()
    program = "import gpupool.cluster.load, gpupool.engine.drive"
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return time.monotonic() - began


def until(true: Callable[[], Any], what: str, seen: Callable[[], str] = lambda: "") -> Any:
    """Wait until `true` returns a true value and return it; fail with `what`, and with `seen`, after the limit.

    Looks are frequent at first and rarer later: each look slows the machine down.
    """
    began = time.monotonic()
    end = began + _AT_LEAST
    while not (value := true()):
        now = time.monotonic()
        if now > end:
            end = began + STARTS * start()
            assert now < end, f"it did not come that {what}, in {now - began:.0f} s: {seen()}"
        time.sleep(min(_RARELY, _OFTEN + (now - began) / 10))
    return value
