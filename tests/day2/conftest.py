"""Each file here has a separate cluster, and takes longer the more of an admin's day it shows."""

import os

import longest
import pytest

from tests.testbed.cluster import WORKER


def pytest_configure() -> None:
    """Name the containers of each worker differently."""
    os.environ["GPUPOOL_TESTBED_PREFIX"] += f"-{WORKER}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest, even if they are few."""
    longest.first(items, ("upgrade", "maintain", "price", "onboard"))
