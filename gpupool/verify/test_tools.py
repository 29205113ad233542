"""Users' tools work."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system.tools import BIN, shares_queue
from gpupool.verify.scope import only_if

pytestmark = pytest.mark.manages("tools")


@pytest.mark.needs("slurmctld")
def test_users_can_ask_for_the_queue(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(shares_queue(cluster, node))
    done = host.run(f"{BIN}/gpu_usage --json")
    assert done.rc == 0, done.stderr.strip()
