"""What slurmdbd shall hold: cluster, QoS, accounts, users and their limits, as plain data."""

from typing import Any

from gpupool.cluster.model import Cluster, Partition
from gpupool.cluster.schema.labs import Amounts, Limits
from gpupool.slurm.names import wall

# more than any cluster has: a partition's QoS with it frees jobs of the limit in their own QoS
UNBOUNDED = 1_000_000


def entities(cluster: Cluster) -> dict[str, Any]:
    """Give every accounting entity as `gpupool.operations.accounting` takes it."""
    return {
        "cluster": cluster.name,
        "qos": _qos(cluster),
        "accounts": {
            account.name: {
                "parent": account.parent,
                **_limits(account.limits),
                **({"fairshare": account.fairshare} if account.fairshare is not None else {}),
            }
            for account in cluster.accounts.values()
        },
        "users": {
            user.name: {
                "default_account": user.account,
                "accounts": {
                    account: {
                        "qos": sorted(user.qos),
                        **({"default_qos": _default_qos(cluster, user.default_qos, account == user.account)}),
                    }
                    for account in user.accounts
                },
            }
            for user in cluster.users.values()
        },
    }


def partition_qos(partition: Partition) -> str | None:
    """Give the name of the QoS that carries a partition's own limits; None where it has none."""
    return f"partition-{partition.name}" if _limits(partition.limits) or partition.lift_per_user else None


def _default_qos(cluster: Cluster, own: str | None, at_home: bool) -> str:
    if own and at_home:
        return own
    return next((name for name, qos in cluster.qos.items() if qos.default), "normal")


def _qos(cluster: Cluster) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, qos in cluster.qos.items():
        found[name] = {"Priority": qos.priority, **_limits(qos.limits)}
        if qos.max_wall is not None:
            found[name]["MaxWall"] = wall(qos.max_wall)
    for partition in cluster.partitions.values():
        if own := partition_qos(partition):
            found[own] = {"Priority": 0, **_limits(partition.limits)}
            if partition.lift_per_user:
                found[own]["MaxTRESPU"] = {"cpu": UNBOUNDED, "gres/gpu": UNBOUNDED}
    return found


def _limits(limits: Limits) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, amounts in (
        ("GrpTRES", limits.group),
        ("GrpTRESMins", limits.group_minutes),
        ("MaxTRESPU", limits.per_user),
        ("MaxTRES", limits.per_job),
    ):
        if tres := _tres(amounts):
            found[key] = tres
    for field, jobs in (("GrpJobs", limits.group.jobs), ("MaxJobsPU", limits.per_user.jobs)):
        if jobs is not None:
            found[field] = jobs
    return found


def _tres(amounts: Amounts) -> dict[str, int]:
    named = {
        "cpu": amounts.cpu,
        "mem": amounts.mem,
        "node": amounts.nodes,
        "billing": amounts.billing,
        "gres/gpu": amounts.gpu,
        **{f"gres/gpu:{gpu}": count for gpu, count in amounts.gpus.items()},
    }
    return {key: value for key, value in named.items() if value is not None}
