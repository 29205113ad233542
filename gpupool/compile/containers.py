"""The settings of Docker and Singularity on each node, for Slurm's files and for the system's."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.containers import Docker, Singularity


def docker_on(cluster: Cluster, node: Node) -> Docker | None:
    """Return the settings of Docker on a node; None if it has no Docker."""
    docker = cluster.software.docker
    return docker if docker and docker.enabled and node.name in cluster.select(docker.where) else None


def singularity_on(cluster: Cluster, node: Node) -> Singularity | None:
    """Return the settings of Singularity on a node; None if it has no Singularity."""
    singularity = cluster.software.singularity
    wanted = singularity and singularity.enabled and node.name in cluster.select(singularity.where)
    return singularity if wanted else None
