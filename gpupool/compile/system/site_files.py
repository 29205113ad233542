"""The site's own files on a node, and the services that read them."""

from collections.abc import Iterator

from gpupool.cluster.attachments import FILES
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.site_files import SiteFile
from gpupool.wanted import File

#: The service of sshd, which the role ssh reloads for its own files too.
SSH = "ssh.service"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the files of the site on a node; root owns them."""
    for entry in _entries(cluster, node):
        yield File(entry.path, cluster.attached[f"{FILES}/{entry.source}"], mode=entry.mode)


def reloads(cluster: Cluster, node: Node) -> dict[str, list[str]]:
    """Return the paths of the node's files that a service reads on a reload, by the service's unit."""
    paths: dict[str, list[str]] = {}
    for entry in _entries(cluster, node):
        if entry.unit:
            paths.setdefault(entry.unit, []).append(entry.path)
    return paths


def _entries(cluster: Cluster, node: Node) -> Iterator[SiteFile]:
    return (entry for entry in cluster.files if node.name in cluster.select(entry.where))
