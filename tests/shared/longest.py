"""The order of test files where workers take them one by one: what takes longest must not begin last."""

from collections.abc import Sequence

import pytest


def first(items: list[pytest.Item], files: Sequence[str]) -> None:
    """Put the tests of these files (`attacks` for `test_attacks.py`) first, in this order."""
    order = {f"test_{name}": place for place, name in enumerate(files)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
