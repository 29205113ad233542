"""The decision of `upgrade` for each pair of releases: go, or name the releases in between and their packages."""

from itertools import pairwise, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_controller import FakeController
from inventories import SMALL, copied
from upgrading import NODES, SLURM, Run

from gpupool.cluster.load import load
from gpupool.cluster.model import Cluster
from gpupool.errors import GpupoolError
from gpupool.facts.slurm_packages import SlurmPackages
from gpupool.operations import slurm_upgrade
from gpupool.operations.frame import Refused
from gpupool.slurm.releases import KNOWN, number
from gpupool.slurm.upgrades import takes_over_from
from gpupool.target import Target
from gpupool.upgrade import steps

UP = [pair for pair in permutations(KNOWN, 2) if number(pair[0]) < number(pair[1])]
#: Each way with a release in between, and the releases whose packages a site has to bring.
BY = {
    ("22.05", "24.05"): (["23.11"], ["23.11", "24.05"]),
    ("22.05", "24.11"): (["23.11"], ["23.11"]),
    ("22.05", "25.05"): (["23.11"], ["23.11", "25.05"]),
    ("22.05", "25.11"): (["23.11", "24.11"], ["23.11", "25.11"]),
    ("22.05", "26.05"): (["23.11", "24.11"], ["23.11"]),
    ("23.02", "25.05"): (["24.11"], ["25.05"]),
    ("23.02", "25.11"): (["24.11"], ["25.11"]),
    ("23.02", "26.05"): (["24.11"], []),
    ("23.11", "25.11"): (["24.11"], ["25.11"]),
    ("23.11", "26.05"): (["24.11"], []),
    ("24.05", "26.05"): (["24.11"], []),
}


def upgrade(fake: FakeController, folder: Path, old: str, new: str) -> Run:
    """Return an upgrade between two releases, with what the nodes' own operation decides on their packages."""
    fake.target = Target(load(copied(SMALL, folder / "new", (SLURM[0], SLURM[1].replace("26.05", new)))), None, {})
    run = Run(fake, f"{old}.7", f"{new}.7")
    cluster = fake.target.cluster
    for name in NODES:
        if why := refusal(cluster, name, f"{old}.7-1", f"{new}.7-1"):
            run.runner.failures["look", name] = f"Packages: {why}"
    return run


def refusal(cluster: Cluster, name: str, installed: str, wanted: str) -> str:
    """Return why the first step of an upgrade refuses a node with a version of slurmd; "" if it does not."""
    asked: dict[str, Any] = {}
    operations = SimpleNamespace(fetched=lambda **values: asked.update(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "slurm_upgrade", operations)
        steps._fetch(cluster, cluster.nodes[name])
    state = SlurmPackages(installed={"slurmd": installed}, wanted={"slurmd": wanted})
    try:
        slurm_upgrade._refuse(state, asked["release"], asked["takes_over_from"], asked["needed"])
    except Refused as why:
        return str(why)
    return ""


def test_there_are_28_pairs() -> None:
    assert len(UP) == 28
    assert set(BY) < set(UP)


@pytest.mark.parametrize(("old", "new"), [pair for pair in UP if pair not in BY])
def test_a_step_that_slurm_allows_is_one_upgrade(old: str, new: str, fake: FakeController, tmp_path: Path) -> None:
    run = upgrade(fake, tmp_path, old, new)
    run(at_most=2)
    assert [what for what, _ in run.steps()] == ["fetch", "database", "apply", "change", "change", "apply", "tidy"]
    assert {node.version for node in run.slurm.nodes.values()} == {f"{new}.7"}


@pytest.mark.parametrize(("old", "new"), BY)
def test_a_longer_step_names_the_upgrades_and_the_packages_to_bring(
    old: str, new: str, fake: FakeController, tmp_path: Path
) -> None:
    run = upgrade(fake, tmp_path, old, new)
    with pytest.raises(GpupoolError) as error:
        run()
    between, own = BY[old, new]
    way = ", then to ".join([*between, new])
    source = f"; packages of {' and '.join(own)} come from a repository of your own" if own else ""
    *nodes, last = str(error.value).splitlines()
    assert [line.partition(":")[0] for line in nodes] == [*NODES]
    assert all(f"upgrade to {way}{source} (see docs/upgrade.md)" in line for line in nodes)
    assert last == "3 nodes cannot be upgraded, and nothing was changed"
    assert run.steps() == []
    assert all(before in takes_over_from(after) for before, after in pairwise([old, *between, new]))


@pytest.mark.parametrize(("new", "old"), UP)
def test_no_release_is_downgraded(old: str, new: str, fake: FakeController, tmp_path: Path) -> None:
    run = upgrade(fake, tmp_path, old, new)
    with pytest.raises(GpupoolError, match="Slurm cannot be downgraded once its database is converted"):
        run()
    assert run.steps() == []
