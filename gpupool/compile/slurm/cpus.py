"""CPUs per GPU: the default of jobs that request none, and the maximum."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.partition import Partition
from gpupool.compile.slurm.by_type import by_type


def default(cluster: Cluster) -> int | None:
    """Return DefCpuPerGPU of all partitions: by type, the lowest, since the submit plugin requests that of the type."""
    return by_type(cluster.gpu_types, cluster.scheduler.default_cpus_per_gpu).get("")


def of_partition(cluster: Cluster, partition: Partition) -> int | None:
    """Return a partition's own DefCpuPerGPU; None if it has none."""
    return by_type(_types(cluster, partition), partition.entry.default_cpus_per_gpu).get("")


def by_default(cluster: Cluster) -> dict[str, int]:
    """Return the default CPUs per GPU by partition, without partitions that have Slurm's default, one per task."""
    of_all = default(cluster)
    given = ((name, of_partition(cluster, partition) or of_all) for name, partition in cluster.partitions.items())
    return {name: each for name, each in given if each}


def differing(cluster: Cluster) -> dict[str, dict[str, int]]:
    """Return the default CPUs per GPU by partition and type, if the types of a partition have different ones."""
    found = {
        name: by_type(
            _types(cluster, partition),
            partition.entry.default_cpus_per_gpu or cluster.scheduler.default_cpus_per_gpu,
        )
        for name, partition in cluster.partitions.items()
    }
    # a partition whose types have the same number may still be above the lowest in slurm.conf
    lowest = by_default(cluster)
    return {name: each for name, each in found.items() if len(each) > 1 or each.get("") != lowest.get(name)}


def _types(cluster: Cluster, partition: Partition) -> list[str]:
    return list(dict.fromkeys(gpu for name in partition.nodes for gpu in cluster.nodes[name].all_gpus))


def most(cluster: Cluster) -> dict[str, int]:
    """Return the maximum CPUs per GPU by type; the key `""` has the lowest, for requests without a type."""
    limits = {gpu: limit for gpu in cluster.gpu_types if (limit := cluster.scheduler.most_cpus(gpu)) is not None}
    return {**limits, "": min(limits.values())} if limits else {}
