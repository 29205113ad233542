"""One conda for all users: a separate directory for each installer, and a link to the current one."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.modules import CondaInstaller
from gpupool.compile.template import fill
from gpupool.wanted import File

PROFILE = "/etc/profile.d/gpupool-conda.sh"


def installer_for(cluster: Cluster, node: Node) -> CondaInstaller | None:
    """Return the installer of a node's conda; None if the inventory has none for it."""
    conda = cluster.software.conda
    installer = conda.installer if conda else None
    return installer if installer and node.name in cluster.select(installer.where) else None


def directory(installer: CondaInstaller) -> str:
    """Return the directory of an installer's conda. Conda stores its own path, so each installer has a separate one."""
    return f"{installer.prefix}-{installer.sha256[:12]}"


def links(cluster: Cluster, node: Node) -> dict[str, str]:
    """Return the link to the installation, path to target."""
    installer = installer_for(cluster, node)
    return {installer.prefix: directory(installer)} if installer else {}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the profile of login shells."""
    if installer := installer_for(cluster, node):
        yield File(PROFILE, fill("conda.sh", cluster=cluster, prefix=installer.prefix))
