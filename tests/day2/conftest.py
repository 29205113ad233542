"""Each file here has a cluster of its own, and takes the longer the more of an admin's day it shows."""

import os

import longest
import pytest

from tests.testbed.cluster import WORKER


def pytest_configure() -> None:
    """Have each worker's containers named apart."""
    os.environ["GPUPOOL_TESTBED_PREFIX"] += f"-{WORKER}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have what takes longest begin first, however few tests it has."""
    longest.first(items, ("upgrade", "maintain", "price", "onboard"))
