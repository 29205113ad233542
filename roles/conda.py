"""One conda for all users, where the inventory has its installer."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.system.conda import directory, installer_for, links
from gpupool.operations import conda, files
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """Where the inventory has an installer."""
    return installer_for(cluster, node) is not None


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """The link comes last: until then users have the former conda, if any. A conda that jobs use is never removed."""
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
