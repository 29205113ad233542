"""A site whose machines may join, and one with a node more than labs own."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_controller import FakeController
from joining_site import BOX, NEW, Site

from gpupool.facts.hardware import Machine
from gpupool.joining import host_key
from gpupool.operations import ambient


@pytest.fixture
def site(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    it = Site(fake, tmp_path)
    monkeypatch.setattr(host_key, "scan", lambda nodes, name: (it.key,))

    class Host:
        @property
        def name(self) -> str:
            return it.door.looked_at[-1]

        def get_fact(self, fact: object) -> Machine | None:
            return it.machines.get(self.name, BOX)

    monkeypatch.setattr(ambient, "this_host", Host)

    def known(names: tuple[str, ...]) -> None:
        for node in fake.target.cluster.having("compute"):
            if "ctl" in names:
                fake.slurm.add(node)

    it.door.effects["apply"] = known
    return it


@pytest.fixture
def wide(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """With a node more than labs own."""
    changes = ("gpu-[1-2]", "gpu-[1-3]"), ("10.90.2.[1-2]", "10.90.2.[1-3]")
    it = Site(fake, tmp_path, *changes)
    fake.slurm.add(it.target.cluster.nodes[NEW])
    it.door.effects["apply"] = lambda names: [fake.slurm.nodes.pop(NEW, None) for name in names if name == "ctl"]  # type: ignore[assignment,return-value]
    here = SimpleNamespace(here=lambda: (it.target.cluster, it.target.cluster.nodes[NEW]))
    monkeypatch.setattr("gpupool.engine.here.here", here.here)
    return it
