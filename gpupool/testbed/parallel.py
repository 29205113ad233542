"""The same work for many containers in parallel."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gpupool.testbed import docker

_AT_ONCE = max(4, os.cpu_count() or 1)  # with more threads, docker on two cores is not faster

T = TypeVar("T")
R = TypeVar("R")


def parallel(work: Callable[[T], R], items: Sequence[T], at_once: int = _AT_ONCE) -> list[R]:
    """Return the results in the order of the items; after a failure, wait for running work, then raise the error."""
    pool = ThreadPoolExecutor(max_workers=at_once)
    try:
        return list(pool.map(work, items))
    except KeyboardInterrupt:
        docker.stop_waiting()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
