"""Files of every node: host names, and pinned versions of packages."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import names
from gpupool.compile.system.packages import versions_for
from gpupool.compile.template import fill
from gpupool.wanted import File

PREFERENCES = "/etc/apt/preferences.d/gpupool-packages"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the files of host names, and apt's pins of versions."""
    yield from names.files(cluster, node)
    if versions := versions_for(cluster, node):
        yield File(PREFERENCES, fill("preferences", cluster=cluster, versions=versions))
