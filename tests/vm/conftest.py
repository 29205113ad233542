"""Virtual machines for the tests of this folder, deployed once for all of them.

They are kept after the tests if GPUPOOL_TEST_KEEP is set, and the next run uses them again.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpupool.testbed import state
from tests.testbed.cluster import gpupool, hang_up
from tests.vm.cluster import INVENTORY, Changed, Stores, up


@pytest.fixture(scope="session")
def stores() -> Iterator[Stores]:
    """The cluster, deployed."""
    yield up()
    hang_up()
    if not os.environ.get("GPUPOOL_TEST_KEEP"):
        gpupool("testbed", "down", INVENTORY)


@pytest.fixture
def changed(stores: Stores, tmp_path: Path) -> Iterator[Changed]:
    """Return a function for the same machines with another inventory: a copy with one text of one file replaced.

    The inventory is not applied, neither then nor afterwards.
    """
    assert stores.target.testbed
    copy = shutil.copytree(INVENTORY, tmp_path / "inventory")
    seen = replace(stores.target.testbed, id=f"{stores.target.testbed.id}-changed", inventory=str(copy))
    state.folder(seen.id).mkdir(mode=0o700, exist_ok=True)
    state.save(seen)

    def change(file: str, old: str, new: str) -> Stores:
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new))
        return Stores(copy, stores.target)

    yield change
    state.forget(seen.id)
