"""How long a test waits: by what this machine needs for one known thing now, never by seconds that somebody chose."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

STARTS = 300  # a test gives up waiting after the time in which a plan could start that often
_OFTEN, _RARELY = 0.02, 1.0  # seconds between two looks, at first and in the end
_AT_LEAST = 30.0  # seconds until the pace is asked for: most waits are over then, and it costs a start


def start() -> float:
    """Return how many seconds the imports of a plan take here and now: half a second on two quiet cores.

    The imports, and not `gpupool --version`, which imports hardly anything: waits depend on a fixed piece of work.
    """
    began = time.monotonic()
    program = "import gpupool.cluster.load, gpupool.engine.drive"
    subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return time.monotonic() - began


def until(true: Callable[[], Any], what: str, seen: Callable[[], str] = lambda: "") -> Any:
    """Wait until something is so and give it; fail in words, and with what is seen instead, when it does not come.

    Looks are close together at first, and rarer the longer it lasts: a look costs those who are waited for.
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
