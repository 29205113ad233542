"""Between nodes: ports in both directions, credentials of munge, the number of the user slurm, loaded configuration."""

import pytest

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.verify.scope import not_checked, only_if
from gpupool.verify.state import ClusterState

pytestmark = pytest.mark.manages("slurm")


@pytest.mark.manages("controller", "database", "compute", "head")
def test_ports_between_nodes_are_open(node: Node, state: ClusterState) -> None:
    only_if(any(node.name in (link.source, link.target) for seen in state.seen.values() for link in seen.dialled))
    faults = state.closed.get(node.name, [])
    assert not faults, f"{'; '.join(faults)} (`nft list ruleset` here shows a firewall)"


@pytest.mark.manages("munge")
@pytest.mark.needs("munge")
def test_credentials_of_munge_are_accepted_both_ways(node: Node, state: ClusterState) -> None:
    only_if(node.runs_slurm and node.name != state.first)
    seen = state.of(node)
    if seen.decoded is None or seen.decodes is None:
        not_checked(f"no credentials were exchanged with {state.first}")
    fault = state.credential_fault(node)
    assert not fault, fault


@pytest.mark.manages("base")
def test_the_user_slurm_has_the_controllers_number(node: Node, state: ClusterState) -> None:
    only_if(node.runs_slurm and node.name != state.first)
    if state.central.slurm is None:
        not_checked(f"{state.first} has no user slurm, or does not print its number")
    assert state.of(node).slurm, "there is no user slurm (`gpupool apply` installs Slurm)"
    fault = state.number_fault(node)
    assert not fault, fault


@pytest.mark.needs("munge", "slurmctld")
def test_slurms_files_are_those_of_the_controller(cluster: Cluster, node: Node, state: ClusterState) -> None:
    """Nodes without configuration files get them from slurmctld at each reconfigure."""
    only_if(node.runs_slurm and node.name != state.first)
    wanted, loaded = state.central.files, state.of(node).files
    if not wanted:
        not_checked(f"{state.first} does not print its files")
    old = sorted(name for name, sha256 in loaded.items() if name in wanted and sha256 != wanted[name])
    assert "slurm.conf" in loaded, "no slurm.conf was fetched from the controller (`gpupool apply` starts its daemon)"
    assert not old, f"older than on {state.first}: {', '.join(old)} (`scontrol reconfigure` on {state.first})"
