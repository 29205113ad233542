"""The memory that all jobs of an account together can have: a limit that slurmctld keeps without the submit plugin.

The limit is the most that the inventory lets the account's jobs request, so it never delays a job that the plugin
accepts. A request that passes the plugin by mistake takes memory only from jobs of the same account.
"""

from math import ceil, inf

from gpupool.cluster.accounts import Account
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.schema.labs import Amounts
from gpupool.compile.slurm.hardware import threads


def memory(cluster: Cluster, account: Account) -> int | None:
    """Return the MiB that an account's jobs can have together, from its limits on GPUs and CPUs; None if unbounded."""
    group, scheduler = account.limits.group, cluster.scheduler
    most, default = scheduler.max_memory, scheduler.default_memory
    nodes = cluster.having("compute")
    has_gpus = any(node.all_gpu_count for node in nodes)
    if not account.exact or group.mem is not None or group.gpu is None:
        return None
    if most.per_cpu is None or (has_gpus and most.per_gpu is None):
        return None
    cpus = min(inf if group.cpu is None else group.cpu, sum(map(_cpus_for_others, nodes)))
    # A job that requests memory for each CPU gets it for all threads of its cores.
    together = max((threads(node, scheduler.allocate) for node in nodes), default=1)
    per_gpu = max((*most.of_gpus(cluster.gpu_types), *default.of_gpus(cluster.gpu_types)), default=0)
    per_cpu = max(most.per_cpu, default.per_cpu or 0)
    # Whole nodes have more memory for each GPU and each CPU than other jobs may request.
    whole = [node for node in nodes if _allows(group, node)]
    each_gpu = max((per_gpu * together, *(node.memory / node.all_gpu_count for node in whole if node.all_gpu_count)))
    each_cpu = max((per_cpu, *(node.memory / node.job_cpus for node in whole if not node.all_gpu_count)))
    return max(ceil(group.gpu * each_gpu + cpus * each_cpu), _largest(cluster, whole)) or None


def _largest(cluster: Cluster, whole: list[Node]) -> int:
    """Return the memory of the largest node in all partitions that contain one of these nodes.

    Slurm counts this for a pending job with whole nodes, whichever node of the partition will run the job.
    """
    names = {node.name for node in whole}
    reached = (partition.nodes for partition in cluster.partitions.values() if not names.isdisjoint(partition.nodes))
    return max((cluster.nodes[name].memory for nodes in reached for name in nodes), default=0)


def _allows(group: Amounts, node: Node) -> bool:
    """Return whether the limits of an account allow it the whole node."""
    typed = all(count <= group.gpus.get(kind, count) for kind, count in node.all_gpus.items())
    within = node.all_gpu_count <= (group.gpu or 0) and node.job_cpus <= (inf if group.cpu is None else group.cpu)
    return typed and within and node.job_cpus > 0


def _cpus_for_others(node: Node) -> int:
    """Return the CPUs of a node that jobs without GPUs can get."""
    return max(0, node.job_cpus - node.cpus_kept * node.all_gpu_count)
