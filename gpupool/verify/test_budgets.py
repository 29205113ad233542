"""Budgets can be read by users and by the submit plugin."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.budgets import FILE, TOO_OLD, has_budgets
from gpupool.compile.system.budgets import COMMAND
from gpupool.verify.scope import only_if

pytestmark = pytest.mark.manages("budgets")

_OLD = TOO_OLD // 60  # minutes; the file is replaced every minute


@pytest.mark.role("head", "controller", "backup-controller")
@pytest.mark.needs("slurmctld")
def test_the_budgets_can_be_read(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(has_budgets(cluster))
    done = host.run(COMMAND)
    assert done.rc == 0, done.stderr.strip()


@pytest.mark.role("controller", "backup-controller")
@pytest.mark.needs("slurmctld")
def test_the_submit_plugin_gets_the_budgets(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(has_budgets(cluster))
    fresh = host.run(f"find {FILE} -mmin -{_OLD}").stdout.strip()
    assert fresh, f"{FILE} is missing or older than {_OLD} minutes: see journalctl -u gpupool-budgets"
