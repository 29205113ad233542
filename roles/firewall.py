"""nftables: the connections that a node refuses or bounds, in gpupool's own table. Other tables are not changed."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.firewall import RULES, TABLE, UNIT, rules
from gpupool.operations import files, firewall, service
from gpupool.roles import everywhere, where

applies = everywhere


@where(everywhere)
def apply(cluster: Cluster, node: Node) -> None:
    """Load the table; fail without a change if it would refuse gpupool's own connection."""
    wanted = rules(cluster, node)
    unit = UNIT.rpartition("/")[2]
    firewall.keeps_us(
        name="Our own way in",
        ssh_from=[str(network) for network in wanted.ssh_from],
        ssh_never=[str(network) for network in wanted.ssh_never],
    )
    files.put(name="Firewall rules", files=files_of(cluster, node, "firewall"))
    service.running(name="Firewall", unit=unit, restart_if=[UNIT], reload_if=[RULES])
    firewall.loaded(name="Firewall loaded", table=TABLE, unit=unit, rules=RULES)
