"""Memory per GPU by type: the default of jobs that request none, and the maximum."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.scheduling import MemoryOfGpus
from gpupool.compile.slurm import by_type as amounts


def by_type(cluster: Cluster, memory: MemoryOfGpus) -> dict[str, int]:
    """Return MiB per GPU by type, as `amounts.by_type` does; empty if the inventory has no amount per GPU."""
    return amounts.by_type(cluster.gpu_types, memory.per_gpu)
