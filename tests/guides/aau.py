"""AAU AI Cloud's testbed for the tests of its guide."""

import os
from collections.abc import Iterator

import pytest
from inventories import INVENTORY

from tests.guides.terminal import Terminal
from tests.testbed.cluster import Testbed, gpupool, up

PILOT, NODE, OTHER_NODE = "ai-pilot", "nv-ai-03", "nv-ai-01"
#: In a group of the department `es`, in `cs`, and in `es` itself.
USERS = ME, COLLEAGUE, NEWCOMER = "u1@student.aau.dk", "u2@cs.aau.dk", "u3@es.aau.dk"
#: Creates a user's own key for ssh from one node to another, with ssh-keygen.
_OWN_KEY = """cd ~/.ssh && { [ -e id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f id_ed25519; } &&
{ grep -qxFf id_ed25519.pub authorized_keys || cat id_ed25519.pub >> authorized_keys; }"""


def long_name(node: str) -> str:
    """Return the name of a node in Slurm."""
    return f"{node}.srv.aau.dk"


@pytest.fixture(scope="session")
def cloud() -> Iterator[Testbed]:
    """AAU AI Cloud; each user has a key."""
    inventory = INVENTORY / "aau-ai-cloud"
    testbed = up(inventory, "10.177.0.0/16")
    for user in USERS:
        testbed.out(PILOT, _OWN_KEY, user)
    yield testbed
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", inventory)


@pytest.fixture
def front(cloud: Testbed) -> Iterator[Terminal]:
    """A log-in on its front-end, without jobs of earlier tests."""
    cloud.end_jobs()
    with Terminal(cloud, PILOT, ME) as terminal:
        yield terminal
