"""The same work for many containers at once."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gpupool.testbed import docker

_AT_ONCE = max(4, os.cpu_count() or 1)  # docker on two cores starts no faster with more

T = TypeVar("T")
R = TypeVar("R")


def parallel(work: Callable[[T], R], items: Sequence[T], at_once: int = _AT_ONCE) -> list[R]:
    """Return the results in the order of the items; the first failure is raised once those under way have ended."""
    pool = ThreadPoolExecutor(max_workers=at_once)
    try:
        return list(pool.map(work, items))
    except KeyboardInterrupt:
        docker.stop_waiting()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
