"""Users' CPU shares on heads."""

import pytest
from testinfra.host import Host

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.verify.scope import not_applicable

pytestmark = pytest.mark.manages("sessions")


def test_users_have_their_share_of_cpus(cluster: Cluster, node: Node, host: Host) -> None:
    heads = cluster.policies.head_nodes
    if not (heads and node.has("head")):
        not_applicable()
    wanted = f"{int(heads.cpu_per_user.rstrip('%')) * 10}ms"
    # no user has this number: systemd shows the settings that a session would get
    shown = host.check_output("systemctl show -p CPUQuotaPerSecUSec --value user-4294900000.slice")
    assert _milliseconds(shown) == _milliseconds(wanted), f"CPUQuota of users' slices is {shown}, not {wanted}"


def _milliseconds(span: str) -> float:
    """Return a systemd time span (2s, 500ms, 1.500s, 1min 40s) in milliseconds."""
    units = {"min": 60_000, "ms": 1, "us": 0.001, "s": 1000}
    total = 0.0
    for word in span.split():
        unit = next((unit for unit in units if word.endswith(unit)), "")
        total += float(word.removesuffix(unit)) * units[unit] if unit else float("nan")
    return total
