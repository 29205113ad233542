"""Which nodes have docker and singularity, by the inventory: for Slurm's files and for those of the system."""

from gpupool.cluster.model import Cluster, Node
from gpupool.cluster.schema.software import Docker, Singularity


def docker_on(cluster: Cluster, node: Node) -> Docker | None:
    """Return what the inventory says of docker on a node; None where there is none."""
    docker = cluster.software.docker
    return docker if docker and docker.enabled and node.name in cluster.select(docker.where) else None


def singularity_on(cluster: Cluster, node: Node) -> Singularity | None:
    """Return what the inventory says of singularity on a node; None where there is none."""
    singularity = cluster.software.singularity
    wanted = singularity and singularity.enabled and node.name in cluster.select(singularity.where)
    return singularity if wanted else None
