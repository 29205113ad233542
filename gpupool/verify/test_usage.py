"""The timers of nightly work on storage are active."""

import shlex

from testinfra.host import Host

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.system.usage import TIMERS, jobs_for


def test_nightly_work_is_scheduled(cluster: Cluster, node: Node, host: Host) -> None:
    units = [TIMERS[kind].rpartition("/")[2] for kind in jobs_for(cluster, node).intervals]
    if not units:
        return
    states = host.run(f"systemctl is-active {shlex.join(units)}").stdout.splitlines()
    idle = [unit for unit, state in zip(units, states, strict=True) if state != "active"]
    assert not idle, f"timers not active: {', '.join(idle)}"
