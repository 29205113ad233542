"""The same work for many containers at once."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_ABREAST = 4  # docker on two cores starts no faster with more

T = TypeVar("T")
R = TypeVar("R")


def abreast(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """Return the results in the order of the items; the first failure is raised once all have ended."""
    with ThreadPoolExecutor(max_workers=max(_ABREAST, os.cpu_count() or 1)) as pool:
        return list(pool.map(work, items))
