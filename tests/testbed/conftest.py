"""A cluster in containers for the tests of this folder: SkyNet's testbed, deployed once for all of them.

Kept after the tests where GPUPOOL_TEST_KEEP is set, and found again by the next run.
"""

import os
from collections.abc import Iterator

import pytest

from tests.testbed.cluster import NETWORK, SKYNET, Testbed, gpupool, until, up


@pytest.fixture(scope="session")
def skynet() -> Iterator[Testbed]:
    """SkyNet, deployed."""
    yield up(SKYNET, NETWORK)
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", SKYNET)


@pytest.fixture
def idle(skynet: Testbed) -> Iterator[Testbed]:
    """SkyNet without any job, before and after."""

    def clear() -> None:
        skynet.out("marvin", "squeue -h -o %A | sort -u | xargs -r scancel")
        until(lambda: not skynet.out("marvin", "squeue -h"), "all jobs are gone")
        until(lambda: set(skynet.out("marvin", "sinfo -h -o %t").split()) == {"idle"}, "all nodes are idle")

    clear()
    yield skynet
    clear()
