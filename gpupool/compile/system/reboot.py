"""What keeps a compute node from being rebooted under running jobs."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.template import fill
from gpupool.wanted import File

#: Before /usr/sbin in root's and sudo's PATH.
COMMANDS = tuple(f"/usr/local/sbin/{name}" for name in ("halt", "poweroff", "reboot", "shutdown"))
APT = "/etc/apt/apt.conf.d/90gpupool-reboot"


def guards(cluster: Cluster, node: Node) -> bool:
    """Return whether a node is rebooted only when no job runs on it."""
    return cluster.policies.reboot_only_idle and node.has("compute")


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the commands that look for jobs first, and what keeps unattended-upgrades from a reboot of its own."""
    if guards(cluster, node):
        for path in COMMANDS:
            yield File(path, fill("reboot", cluster=cluster, node=node.slurm_name), mode="0755")
        yield File(APT, fill("apt-reboot.conf", cluster=cluster))
