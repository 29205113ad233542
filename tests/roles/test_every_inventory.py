"""Every inventory of this repository, applied from zero: no role refuses a valid inventory."""

from pathlib import Path

import empty_nodes
import pytest
from origin import ORIGIN

from gpupool.cluster.load import load
from gpupool.compile import files_for
from gpupool.compile.slurm.elastic import STAMP
from gpupool.compile.system.packages import packages_for
from gpupool.distributions import slurm
from gpupool.engine.drive import run
from gpupool.facts.host_keys import KNOWN
from gpupool.run.runner import SITE
from gpupool.target import Target
from gpupool.testbed.overlay import stand_in

INVENTORIES = sorted(path.parent for path in (Path(__file__).parents[2] / "inventory").glob("*/cluster.yml"))


@pytest.mark.parametrize("inventory", INVENTORIES, ids=[path.name for path in INVENTORIES])
def test_the_release_of_every_slurm_package_is_checked_before_the_first_change(inventory: Path) -> None:
    cluster = load(inventory)
    for node in cluster.nodes.values():
        wanted = {name for name in packages_for(cluster, node) if name.startswith("slurm") or name == "sackd"}
        assert wanted <= set(slurm.programs(node.system))


@pytest.mark.parametrize("kind", ["machines", "testbed-v1", "testbed-v2"])
@pytest.mark.parametrize("inventory", INVENTORIES, ids=[path.name for path in INVENTORIES])
def test_all_nodes_succeed(inventory: Path, kind: str) -> None:
    cluster = load(inventory)
    if kind != "machines":
        cluster = stand_in(cluster, cgroup="v1" if kind.endswith("v1") else "v2")
    target = Target(cluster, None, {})
    report = run(target.hosts, SITE, execute=True, origin=ORIGIN)
    assert not report.failures
    assert list(report.hosts) == [node.name for node in target.nodes]
    for node in target.nodes:
        put = {row[0] for row in empty_nodes.staged(node.name)}
        assert put == {KNOWN, *(file.path for file in files_for(cluster, node)), *([STAMP] if node.elastic else [])}
