"""Limits of partitions and QoS for the submit plugin, which takes a job out of partitions that would refuse it.

slurmctld refuses a job that exceeds the limits of one of its partitions if a QoS has DenyOnLimit, also with
EnforcePartLimits=ANY (measured on 24.11.5).
"""

from collections.abc import Mapping
from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.labs import Limits
from gpupool.compile.slurm.accounting import denies, partition_qos, per_user, tres
from gpupool.slurm.times import minutes


def of_plugin(cluster: Cluster) -> dict[str, Any]:
    """Return the limits by partition and by QoS; an empty dictionary if no partition can refuse what another admits."""
    own = {name: partition for name, partition in cluster.partitions.items() if partition_qos(partition)}
    denying = denies(cluster) or any(denies(cluster, name) for name in cluster.qos)
    if cluster.scheduler.enforce_limits != "any" or not own or len(cluster.partitions) == 1 or not denying:
        return {}
    partitions = {name: _limits(partition.limits, deny=denies(cluster)) for name, partition in own.items()}
    for name, partition in own.items():
        if partition.entry.lifts_per_user:
            partitions[name]["per_user"] = per_user(partition)
    qos = {
        name.lower(): {
            **_limits(entry.limits, entry.max_wall, deny=denies(cluster, name)),
            **({"over_partition": True} if _is_over_partition(entry.parameters) else {}),
        }
        for name, entry in cluster.qos.items()
    }
    gpus = ["gres/gpu", *(f"gres/gpu:{gpu}" for gpu in cluster.gpu_types)]
    return {"partitions": partitions, "qos": {name: value for name, value in qos.items() if value}, "gpus": gpus}


def _limits(limits: Limits, max_wall: int | None = None, *, deny: bool) -> dict[str, Any]:
    kinds = ("group", "per_account", "per_user", "per_job", "per_job_least")
    wall = limits.per_job.wall if max_wall is None else max_wall
    given = {
        **{kind: tres(getattr(limits, kind)) for kind in kinds},
        "wall": None if wall is None else minutes(wall),
        "deny": deny,
    }
    return {key: value for key, value in given.items() if value}


def _is_over_partition(parameters: Mapping[str, str]) -> bool:
    flags = next((value for key, value in parameters.items() if key.lower() == "flags"), "")
    return "overpartqos" in flags.lower().split(",")
