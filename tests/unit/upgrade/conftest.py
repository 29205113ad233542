"""An upgrade of two compute nodes and a controller."""

from typing import Any

import pytest
from fake_controller import FakeController
from inventories import SMALL, copied
from upgrading import SLURM, Run

from gpupool.cluster.load import load
from gpupool.target import Target


@pytest.fixture
def run(fake: FakeController, tmp_path: Any) -> Run:
    cluster = load(copied(SMALL, tmp_path / "new", SLURM))
    fake.target = Target(cluster, None, {})
    return Run(fake)
