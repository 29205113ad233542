"""Elastic nodes: the service that switches them works, and Slurm knows whether they are on."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME
from gpupool.compile.slurm.elastic import SETTINGS, sleepers
from gpupool.compile.stamp import stamps
from gpupool.slurm.nodes import read
from gpupool.verify.scope import not_applicable, only_if

pytestmark = pytest.mark.manages("elastic")


@pytest.mark.role("controller", "backup-controller")
def test_elastic_nodes_can_be_switched(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(sleepers(cluster))
    asks = f"PYTHONPATH={HOME} timeout 60 python3 -P -B -m elastic --check {SETTINGS}"
    answer = host.run(f"runuser -u slurm -- env {asks}")
    assert answer.rc == 0, (answer.stdout or answer.stderr).strip() or "the cloud does not answer within 60 s"


@pytest.mark.role("controller", "backup-controller")
def test_only_slurm_can_read_the_credentials_of_the_cloud(cluster: Cluster, node: Node, host: Host) -> None:
    if not sleepers(cluster) or cluster.cloud is None:
        not_applicable()
    path = cluster.cloud.credentials
    mode = host.run(f"stat -L -c %a {path}").stdout.strip()
    assert mode, f"there is no {path}: put it there, readable by slurm alone"
    assert mode.endswith("0"), f"{path} has mode {mode}: chmod o= it"


@pytest.mark.role("compute")
@pytest.mark.needs("slurmctld")
def test_node_is_powered_up_in_slurm(cluster: Cluster, node: Node, host: Host) -> None:
    only_if(node.elastic)
    known = read(host.check_output(f"scontrol show node {node.slurm_name}"))[node.slurm_name]
    assert "POWERED_DOWN" not in known.flags, "the node is powered down in Slurm: systemctl restart slurmd"
    wanted = stamps(cluster)[node.slurm_name]
    assert known.extra == wanted, "Slurm has another stamp than the inventory: run gpupool apply"
