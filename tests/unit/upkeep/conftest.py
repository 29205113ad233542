"""A maintenance of two nodes, and one of four."""

from collections.abc import Callable
from typing import Any

import pytest
from fake_controller import FakeController
from inventories import SMALL, copied
from maintaining import Run

from gpupool.cluster.load import load
from gpupool.target import Target


@pytest.fixture
def run(fake: FakeController) -> Run:
    return Run(fake)


@pytest.fixture
def four(tmp_path: Any, fake: FakeController, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Run]:
    """The same with four nodes."""

    def make() -> Run:
        folder = copied(SMALL, tmp_path / "four", ("gpu-[1-2]", "gpu-[1-4]"), ("10.90.2.[1-2]", "10.90.2.[1-4]"))
        wide = FakeController(Target(load(folder), None, {}), tmp_path)
        wide.clock.now = fake.clock.now
        for name in ("drain", "maintain", "prepare", "accept"):
            monkeypatch.setattr(f"gpupool.upkeep.{name}.time", wide.clock)
        its = Run(wide)
        its.runner.changes.update({("plan", name): ["GPU driver"] for name in ("gpu-3", "gpu-4")})
        return its

    return make
