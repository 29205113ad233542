"""Guards against a reboot of a compute node under running jobs."""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.template import fill
from gpupool.wanted import File

#: Found before /usr/sbin in the PATH of root and of sudo.
COMMANDS = tuple(f"/usr/local/sbin/{name}" for name in ("halt", "poweroff", "reboot", "shutdown"))
APT = "/etc/apt/apt.conf.d/90gpupool-reboot"


def guards(cluster: Cluster, node: Node) -> bool:
    """Return whether a node is rebooted only when no job runs on it."""
    return cluster.policies.reboot_only_idle and node.has("compute")


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Return the commands that look for jobs first, and a setting that keeps unattended-upgrades from rebooting."""
    return iter(_files(cluster, node.slurm_name.removeprefix(node.name)) if guards(cluster, node) else ())


@lru_cache(maxsize=64)
def _files(cluster: Cluster, domain: str) -> tuple[File, ...]:
    """Return the files of all nodes whose NodeName is their host name and `domain`; only the domain is in the files."""
    text = fill("reboot", cluster=cluster, domain=domain)
    return (
        *(File(path, text, mode="0755") for path in COMMANDS),
        File(APT, fill("apt-reboot.conf", cluster=cluster)),
    )
