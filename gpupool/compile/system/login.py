"""Variables that the inventory sets in login shells."""

from collections.abc import Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.of_user import shell_word
from gpupool.compile.template import fill
from gpupool.wanted import File

PROFILE = "/etc/profile.d/gpupool-environment.sh"


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the profile of login shells, on nodes where users work."""
    if cluster.environment.login and node.has("head", "compute"):
        values = {name: shell_word(value) for name, value in cluster.environment.login.items()}
        yield File(PROFILE, fill("login.sh", cluster=cluster, values=values))
