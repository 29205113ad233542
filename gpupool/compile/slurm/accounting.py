"""What slurmdbd shall hold: cluster, QoS, accounts, users and their limits, as plain data."""

from datetime import date
from typing import Any

from gpupool.cluster.model import Account, Cluster, Partition, User
from gpupool.cluster.schema.labs import Amounts, Limits
from gpupool.compile.slurm.names import wall

# more than any cluster has: a partition's QoS with it frees jobs of the limit in their own QoS
UNBOUNDED = 1_000_000


def entities(cluster: Cluster, today: date | None = None) -> dict[str, Any]:
    """Return every accounting entity as `gpupool.operations.accounting` takes it, with the grants of a day."""
    day = today or date.today()
    return {
        "cluster": cluster.name,
        "qos": _qos(cluster),
        "accounts": {
            account.name: {
                "parent": account.parent,
                "coordinators": list(account.coordinators),
                **_limits(account.limits),
                **_budget(account),
                **({"Fairshare": account.fairshare} if account.fairshare is not None else {}),
            }
            for account in cluster.accounts.values()
        },
        "users": {
            user.name: {
                "default_account": user.account,
                "accounts": {
                    account: {
                        **_qos_of(cluster, user, day, account),
                        **_each_users(cluster.accounts[account].limits),
                        "MaxSubmit": cluster.scheduler.max_submitted_jobs,
                    }
                    for account in user.accounts
                },
            }
            for user in cluster.users.values()
        },
    }


def partition_qos(partition: Partition) -> str | None:
    """Return the name of the QoS that carries a partition's own limits, in lower case as Slurm has it; None without."""
    limits = {**_limits(partition.limits), **_per_user(partition.limits)}
    limited = any(value not in (None, {}) for value in limits.values())
    return f"partition-{partition.name.lower()}" if limited or partition.lift_per_user else None


def _qos_of(cluster: Cluster, user: User, day: date, account: str) -> dict[str, Any]:
    own = cluster.qos_of(account)
    qos = {*user.qos_on(day), *([own] if own else [])}
    # an inventory without QoS leaves people what slurmdbd gives them: its own `normal`
    if not qos:
        return {}
    default = own or next((name for name, qos in cluster.qos.items() if qos.default), "normal")
    return {"qos": sorted(qos), **({"default_qos": default} if default in qos else {})}


def _qos(cluster: Cluster) -> dict[str, dict[str, Any]]:
    by_name: dict[str, dict[str, Any]] = {}
    for name, qos in cluster.qos.items():
        by_name[name] = {"Priority": qos.priority, **_limits(qos.limits, qos.max_wall), **_per_user(qos.limits)}
        # coordinators can lift the limit on a user of theirs, not this one
        by_name[name]["MaxSubmitPU"] = cluster.scheduler.max_submitted_jobs
    for partition in cluster.partitions.values():
        if own := partition_qos(partition):
            by_name[own] = {"Priority": 0, **_limits(partition.limits), **_per_user(partition.limits)}
            if partition.lift_per_user:
                by_name[own]["MaxTRESPU"] = {"cpu": UNBOUNDED, "gres/gpu": UNBOUNDED}
    # a job that alone is above a limit could never start: it is refused, and does not wait for ever
    return {name: {**fields, "Flags": ["DenyOnLimit"]} for name, fields in by_name.items()}


def _limits(limits: Limits, max_wall: int | None = None) -> dict[str, Any]:
    # every field, the empty ones too: a limit that leaves the inventory is taken away
    return {
        "GrpTRES": _tres(limits.group),
        "GrpTRESMins": _tres(limits.group_minutes),
        "MaxTRES": _tres(limits.per_job),
        "GrpJobs": limits.group.jobs,
        "GrpWall": _wall(limits.group.wall),
        "MaxWall": _wall(limits.per_job.wall if max_wall is None else max_wall),
    }


def _budget(account: Account) -> dict[str, Any]:
    if account.budget is None:
        return {}
    return {"GrpTRESMins": {**_tres(account.limits.group_minutes), "billing": account.budget * 60}}


def _wall(seconds: int | None) -> str | None:
    return None if seconds is None else wall(seconds)


def _per_user(limits: Limits) -> dict[str, Any]:
    return {"MaxTRESPU": _tres(limits.per_user), "MaxJobsPU": limits.per_user.jobs}


def _each_users(limits: Limits) -> dict[str, Any]:
    # an account has no limit for each of its users: it is put on each user's association with it
    return {"GrpTRES": _tres(limits.per_user), "GrpJobs": limits.per_user.jobs}


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
