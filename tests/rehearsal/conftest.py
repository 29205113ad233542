"""What several files of rehearsals need."""

import os
from collections.abc import Iterator

import pytest

from gpupool.rehearsal.twin import container as twin_container


@pytest.fixture(scope="module")
def apart() -> Iterator[None]:
    """Twins of a name of their own: others come and go in other processes meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPOOL_TWIN_PREFIX", f"{twin_container.prefix()}-{os.getpid()}")
        yield
