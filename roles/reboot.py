"""Prevent reboots while jobs run: `reboot` and similar commands check for jobs; unattended-upgrades never reboots."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.reboot import guards
from gpupool.operations import files
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes that run jobs, if the inventory sets reboot_only_idle."""
    return guards(cluster, node)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the commands and apt's setting; no service reads them."""
    files.put(name="Reboot guard", files=files_of(cluster, node, "reboot"))
