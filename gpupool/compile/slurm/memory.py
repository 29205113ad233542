"""Memory per GPU by type: the default of jobs that request none, and the maximum."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.scheduling import MemoryOfGpus


def by_type(cluster: Cluster, memory: MemoryOfGpus) -> dict[str, int]:
    """Return MiB per GPU by type; the key `""` has the lowest, for requests without a type.

    If all types have the same, only `""` is there. Empty if the inventory has no amount per GPU.
    """
    if not memory.per_gpu:
        return {}
    lowest, *higher = memory.of_gpus(cluster.gpu_types) or sorted(memory.per_gpu.values())
    sizes = {gpu: memory.of_gpu(gpu) or lowest for gpu in cluster.gpu_types} if higher else {}
    return {"": lowest, **sizes}
