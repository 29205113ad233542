"""The units that verify asks systemd about are the units that an apply starts."""

import empty_nodes
import pytest
from origin import ORIGIN

from gpupool.change import Kind
from gpupool.compile.units import units
from gpupool.engine.drive import run
from gpupool.run.runner import SITE
from gpupool.target import Target

INVENTORIES = ("example", "skynet", "aau-ai-cloud", "arandu", "gcp-slurm", "santos-dumont")
TARGETS = {**{name: empty_nodes.testbed(name) for name in INVENTORIES}, "machines": empty_nodes.machines()}


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_verify_asks_about_each_unit_that_an_apply_starts(target: Target) -> None:
    report = run(target.hosts, SITE, execute=False, origin=ORIGIN)
    for name, host in report.hosts.items():
        started = {
            change.item if "." in change.item else f"{change.item}.service"
            for change in host.changes
            if change.kind is Kind.SERVICE and any(aspect.wanted == "runs" for aspect in change.aspects)
        }
        started -= {"systemd-logind.service"}
        assert set(units(target.cluster, target.cluster.nodes[name])) == started, name
