"""The site's own files, with the services that read them."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.site_files import SSH, reloads
from gpupool.operations import files, service, sshd
from gpupool.roles import apart, where


def applies(cluster: Cluster, node: Node) -> bool:
    """On nodes for which the inventory has such files."""
    return any(files_of(cluster, node, "site_files"))


@apart
@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Put the files, then reload services that run and have not read them; the role ssh reloads sshd."""
    files.put(name="Files of the site", files=files_of(cluster, node, "site_files"), discreet=True)
    for unit, paths in reloads(cluster, node).items():
        if unit != SSH:
            service.reloaded(name=f"Reload of {unit}", unit=unit, reload_if=paths)
        elif not node.manages("ssh"):
            sshd.reloaded(name=f"Reload of {unit}", unit=unit, reload_if=paths)
