"""SkyNet's testbed, deployed once by each worker for all its tests: those of this folder and of its guide.

A plugin of pytest, since the fixtures of a conftest.py are limited to its folder. The testbed is kept after the tests
if GPUPOOL_TEST_KEEP is set, and the next run uses it again.
"""

import os
from collections.abc import Iterator

import pytest
from pace import until

from tests.testbed.cluster import NETWORK, SKYNET, Testbed, gpupool, up


@pytest.fixture(scope="session")
def skynet() -> Iterator[Testbed]:
    """Yield SkyNet, deployed."""
    yield up(SKYNET, NETWORK)
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", SKYNET)


@pytest.fixture
def idle(skynet: Testbed) -> Iterator[Testbed]:
    """Yield SkyNet without any job; jobs left by a test are cancelled at its end."""
    until(lambda: cleared(skynet), "all jobs are gone and all nodes are idle")
    yield skynet
    cleared(skynet)


def cleared(testbed: Testbed) -> bool:
    """Cancel all jobs; return whether there were none, on idle nodes. A job that is being requeued appears again."""
    return not testbed.cancel_jobs() and testbed.out("marvin", "sinfo -h -o %t | sort -u") == "idle"
