"""Fixtures for several files of rehearsals."""

import os
from collections.abc import Iterator

import pytest

from gpupool.rehearsal.twin import container as twin_container


@pytest.fixture(scope="module")
def apart() -> Iterator[None]:
    """Give the twins a separate name: other processes start and remove twins meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPOOL_TWIN_PREFIX", f"{twin_container.prefix()}-{os.getpid()}")
        yield
