"""Other inventories of the testbed that tests of this folder share."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import longest
import pytest

from gpupool.testbed import state
from tests.testbed.cluster import WORKER, Changed, Testbed


def pytest_configure(config: pytest.Config) -> None:
    """Use SkyNet's testbed, one for each worker."""
    if WORKER != "0":
        os.environ["GPUPOOL_TESTBED_PREFIX"] += f"-{WORKER}"
    config.pluginmanager.import_plugin("tests.testbed.skynet")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the tests that take longest, even if they are few."""
    longest.first(items, ("attacks", "guard", "jobs", "power", "singularity", "apply", "storage_of_others", "access"))


@dataclass(frozen=True)
class _Noting(Testbed):
    """A testbed that records on which nodes an inventory was applied; "" for all of them."""

    applied_on: set[str] = field(default_factory=set)

    def apply(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        limited = dict(pairwise(arguments)).get("--limit", "")
        self.applied_on.update(limited.split(","))
        return super().apply(*arguments)


@pytest.fixture
def changed(idle: Testbed, tmp_path: Path) -> Iterator[Changed]:
    """Return a function for the same testbed with another inventory: a copy with one text of one file replaced.

    If the copy was applied, the testbed's own inventory is applied again at the end of the test.
    """
    assert idle.target.testbed
    copy = shutil.copytree(idle.inventory, tmp_path / "skynet")
    seen = replace(idle.target.testbed, id=f"{idle.target.testbed.id}-changed", inventory=str(copy))
    state.folder(seen.id).mkdir(mode=0o700, exist_ok=True)
    state.save(seen)

    def change(file: str, old: str, new: str) -> Testbed:
        text = (copy / file).read_text()
        assert old in text
        (copy / file).write_text(text.replace(old, new))
        return _Noting(copy, idle.target, applied_on)

    applied_on: set[str] = set()
    yield change
    state.forget(seen.id)
    # jobs of a partition that the inventory has again must not delay the apply
    idle.end_jobs()
    # commands of the test itself may have run anywhere
    limit = ["--limit", ",".join(applied_on)] if applied_on and "" not in applied_on else []
    assert idle.apply(*limit).returncode == 0
