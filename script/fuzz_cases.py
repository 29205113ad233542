"""Tries random cases one after the other, and keeps each that fails in build/fuzz."""

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "build" / "fuzz"


class LateError(Exception):
    """A case takes too long. It is no OSError, of which the command line makes a message."""


@dataclass(frozen=True)
class Limit:
    """The seconds that a case may take, by a clock, with the timer and the signal that measure the same."""

    seconds: float
    clock: Callable[[], float]
    timer: int
    signal: signal.Signals


def by_the_wall(seconds: float) -> Limit:
    """Return a limit of seconds that pass."""
    return Limit(seconds, time.monotonic, signal.ITIMER_REAL, signal.SIGALRM)


def of_a_processor(seconds: float) -> Limit:
    """Return a limit of seconds of a processor."""
    return Limit(seconds, time.process_time, signal.ITIMER_PROF, signal.SIGPROF)


def failed(
    most: int, kept: str, limit: Limit, case: Callable[[int, Path], object], faults: Callable[[Path], Sequence[str]]
) -> int:
    """Try `most` cases; return how many failed.

    `case` writes the case of a number into a folder, and `faults` returns the faults with it. The folder of a failed
    case is kept as `kept` with its number.
    """

    def late(_: int, __: FrameType | None) -> None:
        raise LateError(f"more than {limit.seconds} s")

    signal.signal(limit.signal, late)
    count, slowest = 0, (0.0, 0)
    for number in range(most):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "case"
            folder.mkdir()
            case(number, folder)
            began = limit.clock()
            signal.setitimer(limit.timer, limit.seconds)
            wrong = faults(folder)
            signal.setitimer(limit.timer, 0)
            slowest = max(slowest, (limit.clock() - began, number))
            if wrong:
                count += 1
                place = KEPT / f"{kept}-{number}"
                shutil.copytree(folder, place, dirs_exist_ok=True)
                print(f"{place.relative_to(ROOT)}: {wrong[0]}", flush=True)
        if (number + 1) % 500 == 0 or number + 1 == most:
            tried = f"{number + 1} tried, {count} failed"
            print(f"{tried}, the slowest {slowest[0]:.1f} s (number {slowest[1]})", flush=True)
    return count
