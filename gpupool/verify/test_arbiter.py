"""The arbiter's service runs, and reports no problem with Slurm's output or with held jobs."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.slurm.arbiter import UNIT, settings
from gpupool.node.service import complaint, question


@pytest.mark.role("controller", "backup-controller")
def test_the_arbiter_reports_no_problem(cluster: Cluster, node: Node, host: Host) -> None:
    if settings(cluster) is None:
        return
    name = UNIT.rpartition("/")[2]
    wrong = complaint(name, host.check_output(question(name)))
    assert not wrong, wrong
