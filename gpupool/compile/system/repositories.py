"""Repositories of Debian packages besides the distribution's own, as apt's files on the nodes that use them."""

from collections.abc import Callable, Iterable, Iterator

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.system import docker, driver, packages, singularity
from gpupool.compile.template import fill
from gpupool.wanted import File

SOURCES = "/etc/apt/sources.list.d"
#: Debian's components that the node's own sources lack; only the node knows the text of this file.
COMPONENTS = f"{SOURCES}/gpupool-components.sources"
KEYRINGS = "/etc/apt/keyrings"

#: Functions that yield the names, as in `software.repositories`, of the repositories that a node needs.
USERS: tuple[Callable[[Cluster, Node], Iterable[str]], ...] = (
    driver.repositories,
    docker.repositories,
    singularity.repositories,
    packages.repositories,
)


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the source and the key of each repository that the node uses, and apt's pin for Singularity."""
    for name in sorted({name for used_by in USERS for name in used_by(cluster, node)}):
        repository = cluster.software.repositories[name]
        keyring = f"{KEYRINGS}/gpupool-{name}.asc"
        text = fill("repository.sources", cluster=cluster, repository=repository, keyring=keyring)
        yield File(keyring, f"{repository.key.rstrip()}\n")
        yield File(f"{SOURCES}/gpupool-{name}.sources", text)
    yield from singularity.pin(cluster, node)
