"""A conda for all users, installed with the installer of the inventory."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.conda import directory, installer_for, links
from gpupool.operations import conda, files
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has an installer."""
    return installer_for(cluster, node) is not None


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Install conda, then set the link, so that users keep the old one until then. Old ones are never removed."""
    installer = installer_for(cluster, node)
    if installer is None:
        return
    conda.installed(
        name="Conda",
        url=installer.url,
        sha256=installer.sha256,
        directory=directory(installer),
        link=installer.prefix,
    )
    files.put(name="Conda for logins", files=files_of(cluster, node, "conda"), links=links(cluster, node))
