"""The arbiter's service reports no problem with Slurm's output or with held jobs, and begins its cycles."""

import pytest

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.arbiter import UNIT, settings
from gpupool.verify.scope import only_if
from gpupool.verify.state import ClusterState

pytestmark = pytest.mark.manages("arbiter")

_UNIT = UNIT.rpartition("/")[2]
#: Seconds without a cycle: slurmctld may let the arbiter wait for several commands of 30 s.
_SILENT = 180


@pytest.mark.role("controller", "backup-controller")
@pytest.mark.needs("slurmctld")
def test_the_arbiter_reports_no_problem(cluster: Cluster, node: Node, state: ClusterState) -> None:
    only_if(settings(cluster) is not None)
    wrong = state.of(node).units[_UNIT].trouble
    assert not wrong, f"{_UNIT}: {wrong}"


@pytest.mark.role("controller", "backup-controller")
def test_the_arbiter_and_its_guard_work(cluster: Cluster, node: Node, state: ClusterState) -> None:
    only_if(settings(cluster) is not None)
    unit = state.of(node).units[_UNIT]
    # if it does not run, another check reports it
    only_if(unit.is_active)
    silent = min(unit.since("Watchdog"), unit.since("ActiveEnter"))
    assert silent <= _SILENT, f"{_UNIT} has begun no cycle for {silent} s (`systemctl restart {_UNIT}`)"
