"""job_submit.lua from a Cluster: what Slurm's own settings cannot say of a job at its submission."""

from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.template import fill


def wanted(cluster: Cluster) -> bool:
    """Tell whether slurmctld shall ask our plugin: only if the inventory asks for a piece of it."""
    return job_submit_lua(cluster) is not None


@lru_cache(maxsize=4)
def job_submit_lua(cluster: Cluster) -> str | None:
    """Give the plugin's text, None where the inventory asks for none of its pieces."""
    scheduler = cluster.scheduler
    pieces = {
        "export_fix": scheduler.export_fix,
        "queues": scheduler.default_partition in ("per_user", "fit"),
        "refused_folders": scheduler.refuse_submit_from,
        "replaced": {name: qos.replaces for name, qos in cluster.qos.items() if qos.replaces},
        "cpus_per_gpu": scheduler.warn_cpus_per_gpu,
        "memory_per_cpu": _memory_without_gpu(cluster),
    }
    return fill("job_submit.lua", cluster=cluster, **pieces) if any(pieces.values()) else None


def _memory_without_gpu(cluster: Cluster) -> int | None:
    # slurm.conf takes one kind of default only, and there it is the one for each GPU
    default = cluster.scheduler.default_memory
    return default.per_cpu if default.per_gpu is not None else None
