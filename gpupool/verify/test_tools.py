"""Users' tools work."""

from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.system.tools import BIN, shares_queue


def test_users_can_ask_for_the_queue(cluster: Cluster, node: Node, host: Host) -> None:
    if not shares_queue(cluster, node):
        return
    done = host.run(f"{BIN}/gpu_usage --json")
    assert done.rc == 0, done.stderr.strip()
