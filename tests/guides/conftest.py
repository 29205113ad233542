"""A cluster that two files of tests have."""

import os
from collections.abc import Iterator

import pytest
from inventories import INVENTORY

from tests.guides import dumont as guide
from tests.testbed.cluster import Testbed, gpupool, up


@pytest.fixture(scope="package")
def dumont() -> Iterator[Testbed]:
    """Santos Dumont, with what the modules of its guide stand for."""
    inventory = INVENTORY / "santos-dumont"
    testbed = up(inventory, guide.NETWORK)
    for node in (guide.K40, "sdumont3001", guide.GDL):
        guide.install(testbed, node)
    yield testbed
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", inventory)
