"""Limits of partitions, QoS and accounts for the submit plugin, which takes a job out of partitions that refuse it.

slurmctld refuses a job that exceeds the limits of one of its partitions if a QoS has DenyOnLimit, also with
EnforcePartLimits=ANY (measured on 24.11.5).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gpupool.cluster.accounts import Account
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.labs import Limits
from gpupool.compile.slurm.accounting import denies, partition_qos, per_user, tres
from gpupool.slurm.times import minutes


def of_plugin(cluster: Cluster) -> dict[str, Any]:
    """Return the limits by partition, QoS and account.

    It is empty if no partition can refuse what another admits: if no partition has its own limits or default QoS.
    """
    own = {name: partition for name, partition in cluster.partitions.items() if partition_qos(partition)}
    denying = {denies(cluster), *(denies(cluster, name) for name in cluster.qos)}
    differing = own or any(partition.entry.default_qos for partition in cluster.partitions.values())
    if cluster.scheduler.enforce_limits != "any" or not differing or len(cluster.partitions) == 1 or denying == {False}:
        return {}
    partitions = {name: _limits(partition.limits, deny=denies(cluster)) for name, partition in own.items()}
    for name, partition in own.items():
        if partition.entry.lifts_per_user:
            partitions[name]["per_user"] = per_user(cluster, partition)
    qos = {
        name.lower(): {
            **_limits(entry.limits, entry.max_wall, deny=denies(cluster, name)),
            **({"over_partition": True} if _is_over_partition(entry.parameters) else {}),
        }
        for name, entry in cluster.qos.items()
    }
    accounts = {account.name.lower(): _of_account(cluster, account) for account in cluster.accounts.values()}
    if len(denying) == 1:
        accounts = {name: _replaced(limits, [*partitions.values(), *qos.values()]) for name, limits in accounts.items()}
    accounts = {name: value for name, value in accounts.items() if value}
    return {
        "partitions": partitions,
        "qos": {name: value for name, value in qos.items() if value},
        **({"accounts": accounts} if accounts else {}),
        "gpus": ["gres/gpu", *(f"gres/gpu:{gpu}" for gpu in cluster.gpu_types)],
    }


def _of_account(cluster: Cluster, account: Account) -> dict[str, Any]:
    """Return the limits of an account's jobs: of groups the lowest above it, of a job the nearest, as Slurm counts."""
    above = [cluster.accounts[name] for name in cluster.with_parents(account.name)]
    group: dict[str, int] = {}
    per_job: dict[str, int] = {}
    for amounts in (account.limits.per_user, *(each.limits.group for each in above)):
        for resource, most in tres(amounts).items():
            group[resource] = min(most, group.get(resource, most))
    for each in above:
        per_job = {**tres(each.limits.per_job), **per_job}
    wall = next((wall for each in above if (wall := each.limits.per_job.wall) is not None), None)
    limits = {"group": group, "per_job": per_job, "wall": None if wall is None else minutes(wall)}
    return {key: value for key, value in limits.items() if value}


def _replaced(limits: dict[str, Any], others: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the limits of an account that a partition or QoS replaces: without that, all partitions refuse alike.

    A group limit is none of them: `check` refuses a partition or QoS that replaces one.
    """
    kept: dict[str, Any] = {}
    for other in others:
        both = {key: most for key, most in limits.get("per_job", {}).items() if key in other.get("per_job", {})}
        if both:
            kept["per_job"] = {**kept.get("per_job", {}), **both}
        if "wall" in other and "wall" in limits:
            kept["wall"] = limits["wall"]
    return kept


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
