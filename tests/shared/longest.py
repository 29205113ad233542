"""The order of test files that workers take one by one: the longest must not begin last."""

from collections.abc import Sequence

import pytest


def first(items: list[pytest.Item], files: Sequence[str]) -> None:
    """Put the tests of these files (`attacks` for `test_attacks.py`) first, in this order."""
    order = {f"test_{name}": place for place, name in enumerate(files)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
