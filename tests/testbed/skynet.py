"""SkyNet's testbed, deployed once by each worker for all its tests: those of this folder and of its guide.

A plugin of pytest: a conftest.py has its fixtures in its own folder only. Kept after the tests where
GPUPOOL_TEST_KEEP is set, and found again by the next run.
"""

import os
from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import NETWORK, SKYNET, Testbed, gpupool, up


@pytest.fixture(scope="session")
def skynet() -> Iterator[Testbed]:
    """SkyNet, deployed."""
    yield up(SKYNET, NETWORK)
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", SKYNET)


@pytest.fixture
def idle(skynet: Testbed) -> Iterator[Testbed]:
    """SkyNet without any job; those that a test leaves are cancelled when it is over."""
    until(lambda: cleared(skynet), "all jobs are gone and all nodes are idle")
    yield skynet
    cleared(skynet)


def cleared(testbed: Testbed) -> bool:
    """Cancel what there is; tell whether there was nothing, on idle nodes. A job that is being requeued comes back."""
    return not testbed.cancel_jobs() and testbed.out("marvin", "sinfo -h -o %t | sort -u") == "idle"
