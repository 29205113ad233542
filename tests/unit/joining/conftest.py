"""A site whose machines may join, and a site with one node more than labs own."""

from pathlib import Path

import pytest
from fake_controller import FakeController
from joining_site import BOX, NEW, Site

from gpupool.facts.hardware import Machine
from gpupool.joining import host_key
from gpupool.operations import ambient


@pytest.fixture
def site(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(fake, tmp_path)
    monkeypatch.setattr(host_key, "scan", lambda nodes, name: (made.key,))

    class Host:
        @property
        def name(self) -> str:
            return made.runner.looked_at[-1]

        def get_fact(self, fact: object, tmp: str) -> Machine | None:
            return made.machines.get(self.name, BOX)

    monkeypatch.setattr(ambient, "this_host", Host)

    def known(names: tuple[str, ...]) -> None:
        for node in fake.target.cluster.having("compute"):
            if "ctl" in names:
                fake.slurm.add(node)

    made.runner.effects["apply"] = known
    return made


@pytest.fixture
def wide(fake: FakeController, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site with one node more than labs own."""
    changes = ("gpu-[1-2]", "gpu-[1-3]"), ("10.90.2.[1-2]", "10.90.2.[1-3]")
    made = Site(fake, tmp_path, *changes)
    fake.slurm.add(made.target.cluster.nodes[NEW])
    made.runner.effects["apply"] = lambda names: [fake.slurm.nodes.pop(NEW, None) for name in names if name == "ctl"]  # type: ignore[assignment,return-value]
    current = (made.target.cluster, made.target.cluster.nodes[NEW])
    monkeypatch.setattr("gpupool.engine.current.cluster_and_node", lambda: current)
    return made
