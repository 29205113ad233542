"""The wanted content of slurmdbd: cluster, QoS, accounts, users and their limits, as plain data."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from gpupool.cluster.accounts import Account, User
from gpupool.cluster.model import Cluster
from gpupool.cluster.partition import Partition
from gpupool.cluster.schema.labs import Amounts, Limits, Qos
from gpupool.compile.slurm import floor
from gpupool.compile.slurm.parameters import in_sacctmgrs_words
from gpupool.compile.slurm.site_accounting import with_file
from gpupool.slurm.times import limit

# More than any cluster has; as a limit in a partition's QoS, it lifts the limit of the job's QoS. Memory is in MiB.
UNBOUNDED = 1_000_000
UNBOUNDED_MEMORY = 1_000 * UNBOUNDED


def entities(cluster: Cluster, today: date | None = None) -> dict[str, Any]:
    """Return all accounting entities for `gpupool.operations.accounting`, with the grants that are valid on a day.

    They are those of the words and of `slurm/accounting.cfg`; BadInventoryError if the two do not agree.
    """
    return with_file(cluster, of_words(cluster, today))


def of_words(cluster: Cluster, today: date | None = None) -> dict[str, Any]:
    """Return the entities of the inventory's words."""
    day = today or date.today()
    wanted = {
        "cluster": cluster.name,
        "qos": _qos(cluster),
        "accounts": {
            account.name: {
                "parent": account.parent,
                "coordinators": [name for name in account.coordinators if not cluster.users[name].ended_on(day)],
                **_limits(account.limits),
                "GrpTRES": tres(account.limits.group) | _floor(cluster, account),
                **_budget(account),
                **({"Fairshare": account.entry.fairshare} if account.entry.fairshare is not None else {}),
                **in_sacctmgrs_words("association", account.entry.parameters),
            }
            for account in cluster.accounts.values()
        },
        "users": {user.name: entity_of(cluster, user, day) for user in cluster.users.values()},
    }
    return _less_exact(cluster, wanted if cluster.gpu_types else _without_gpus(wanted))


def _without_gpus(data: dict[str, Any]) -> dict[str, Any]:
    """Return entities without limits on GPUs, which slurmdbd does not know if no node has a GPU."""
    return {
        key: _without_gpus(value) if isinstance(value, dict) else value
        for key, value in data.items()
        if key != "gres/gpu"
    }


def entity_of(cluster: Cluster, user: User, day: date) -> dict[str, Any]:
    """Return the wanted record of a user in slurmdbd on a day."""
    return {
        "default_account": user.account,
        "accounts": {
            account: {
                **_qos_of(cluster, user, day, account),
                **_each_users(cluster.accounts[account].limits),
                "MaxSubmit": cluster.scheduler.max_submitted_jobs,
                **_submitted(cluster, account, ended=user.ended_on(day)),
            }
            for account in user.accounts
        },
    }


def _submitted(cluster: Cluster, account: str, *, ended: bool) -> dict[str, int]:
    """Return the limit on a user's submitted jobs in an account, of all QoS together; earlier jobs continue.

    The limit is GrpSubmit, because that of a QoS would replace MaxSubmit.
    """
    most = 0 if ended else _most_submitted(cluster, cluster.accounts[account].limits)
    return {} if most is None else {"GrpSubmit": most}


def partition_qos(partition: Partition) -> str | None:
    """Return the name of the QoS with a partition's own limits, in lower case as Slurm has it; None without limits."""
    limits = {**_limits(partition.limits), **_of_a_qos(partition.limits)}
    limited = any(value not in (None, {}) for value in limits.values())
    return f"partition-{partition.name.lower()}" if limited or partition.entry.lifts_per_user else None


def per_user(cluster: Cluster, partition: Partition) -> dict[str, int]:
    """Return a partition's limits per user by TRES; where it lifts those of the job's QoS, it keeps its own."""
    if not partition.entry.lifts_per_user:
        return tres(partition.limits.per_user)
    lifted = {"cpu", "gres/gpu", *(key for qos in _usable(cluster, partition) for key in tres(qos.limits.per_user))}
    unbounded = {key: UNBOUNDED_MEMORY if key in ("mem", "billing") else UNBOUNDED for key in sorted(lifted)}
    return {**unbounded, **tres(partition.limits.per_user)}


def _usable(cluster: Cluster, partition: Partition) -> list[Qos]:
    return [qos for name, qos in cluster.qos.items() if partition.entry.allows_qos(name)]


def _lifted_jobs(cluster: Cluster, partition: Partition) -> dict[str, int]:
    """Return the limits per user on running and on submitted jobs that lift those of the job's QoS."""
    own, of_qos = partition.limits.per_user, [qos.limits.per_user for qos in _usable(cluster, partition)]
    if not partition.entry.lifts_per_user:
        return {}
    running = own.jobs is None and any(limits.jobs is not None for limits in of_qos)
    submitted = own.submitted is None and any(limits.submitted is not None for limits in of_qos)
    most = cluster.scheduler.max_submitted_jobs
    return {
        **({"MaxJobsPU": UNBOUNDED} if running else {}),
        **({"MaxSubmitPU": UNBOUNDED if most is None else most} if submitted else {}),
    }


def _qos_of(cluster: Cluster, user: User, day: date, account: str) -> dict[str, Any]:
    qos = user.qos_on(day, account)
    # If the inventory has no QoS, users keep slurmdbd's own: `normal`.
    if not qos:
        return {}
    default = cluster.qos_of(account) or cluster.default_qos or "normal"
    return {"qos": sorted(qos), **({"default_qos": default} if default in qos else {})}


def _qos(cluster: Cluster) -> dict[str, dict[str, Any]]:
    by_name: dict[str, dict[str, Any]] = {}
    if not cluster.qos and _limits_jobs(cluster):
        # Users then have Slurm's own QoS, in which a job above a limit could wait forever.
        by_name["normal"] = {"MaxSubmitPU": cluster.scheduler.max_submitted_jobs}
    for name, qos in cluster.qos.items():
        by_name[name] = {"Priority": qos.priority, **_limits(qos.limits, qos.max_wall), **_of_a_qos(qos.limits)}
        # Coordinators can raise the limit on a user's association, but not this one.
        by_name[name]["MaxSubmitPU"] = _most_submitted(cluster, qos.limits)
        by_name[name] |= {**_preemption(cluster, qos), **in_sacctmgrs_words("qos", qos.parameters)}
    for partition in cluster.partitions.values():
        if own := partition_qos(partition):
            by_name[own] = {"Priority": 0, **_limits(partition.limits), **_of_a_qos(partition.limits)}
            if partition.limits.per_user.submitted is not None:
                # It replaces the limit of the job's QoS.
                by_name[own]["MaxSubmitPU"] = _most_submitted(cluster, partition.limits)
            by_name[own] |= {"MaxTRESPU": per_user(cluster, partition), **_lifted_jobs(cluster, partition)}
    # A job that alone exceeds a limit could never start, so it is refused instead of waiting forever.
    flags = {name: _flags(cluster, name, fields.get("Flags", ())) for name, fields in by_name.items()}
    return {name: {**fields, "Flags": flags[name]} for name, fields in by_name.items()}


def _preemption(cluster: Cluster, qos: Qos) -> dict[str, Any]:
    # Without preemptable QoS, Slurm preempts by partition and ignores these fields.
    fields = {"Preempt": sorted(qos.preempts), "PreemptMode": qos.preempt_action, "GraceTime": qos.grace}
    return _without_empty(fields) if cluster.preempts_by_qos else {}


def _flags(cluster: Cluster, name: str, more: Iterable[str]) -> list[str]:
    return sorted({*(["DenyOnLimit"] if denies(cluster, name) else []), *more})


def denies(cluster: Cluster, name: str = "") -> bool:
    """Return whether a QoS refuses jobs above its limits (DenyOnLimit); without a name, the QoS of partitions."""
    own = cluster.qos[name].over_limit if name in cluster.qos else None
    return (own or cluster.scheduler.over_limit) == "refuse"


def _limits_jobs(cluster: Cluster) -> bool:
    kinds = ("group", "per_user", "per_job")
    return any(tres(getattr(account.limits, kind)) for account in cluster.accounts.values() for kind in kinds)


def _most_submitted(cluster: Cluster, limits: Limits) -> int | None:
    each = (cluster.scheduler.max_submitted_jobs, limits.per_user.submitted)
    return min((number for number in each if number is not None), default=None)


def _limits(limits: Limits, max_wall: int | None = None) -> dict[str, Any]:
    # All fields, even empty ones, so that a limit that leaves the inventory is removed.
    return {
        "GrpTRES": tres(limits.group),
        "GrpTRESMins": tres(limits.group_minutes),
        "MaxTRES": tres(limits.per_job),
        "GrpJobs": limits.group.jobs,
        "GrpWall": _wall(limits.group.wall),
        "MaxWall": _wall(limits.per_job.wall if max_wall is None else max_wall),
        **_without_empty({"GrpSubmit": limits.group.submitted}),
    }


def _without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _floor(cluster: Cluster, account: Account) -> dict[str, int]:
    most = floor.memory(cluster, account)
    return {} if most is None else {"mem": most}


def _budget(account: Account) -> dict[str, Any]:
    if account.entry.budget is None:
        return {}
    return {"GrpTRESMins": {**tres(account.limits.group_minutes), "billing": account.entry.budget * 60}}


def _less_exact(cluster: Cluster, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return entities; unset values are left out in accounts that another system manages, too."""
    open_ = {name for name, account in cluster.accounts.items() if not account.exact}
    whole = not cluster.slurm.exact_accounting  # an adopted cluster may have all its accounts in slurmdbd alone
    if not open_ and not whole:
        return wanted
    accounts = {
        name: {**_without_empty(given), **({} if whole else {"exact": False})} if name in open_ else given
        for name, given in wanted["accounts"].items()
    }
    users = {
        name: {
            **given,
            "accounts": {
                # An empty GrpSubmit stays, so that a user whose access was extended may submit again.
                account: {
                    **(_without_empty(values) if account in open_ else values),
                    **_most(cluster.users[name], values),
                }
                for account, values in given["accounts"].items()
            },
        }
        for name, given in wanted["users"].items()
    }
    qos = {name: _without_empty(given) if whole else given for name, given in wanted["qos"].items()}
    return {**wanted, **({"exact": False} if whole else {}), "qos": qos, "accounts": accounts, "users": users}


def _most(user: User, values: dict[str, Any]) -> dict[str, Any]:
    return {"GrpSubmit": values.get("GrpSubmit")} if user.entry.until else {}


def _wall(seconds: int | None) -> str | None:
    return None if seconds is None else limit(seconds)


def _of_a_qos(limits: Limits) -> dict[str, Any]:
    others = {
        "MaxSubmitPU": limits.per_user.submitted,
        "MaxTRESPA": tres(limits.per_account),
        "MaxJobsPA": limits.per_account.jobs,
        "MaxSubmitPA": limits.per_account.submitted,
        "MinTRES": tres(limits.per_job_least),
    }
    return {"MaxTRESPU": tres(limits.per_user), "MaxJobsPU": limits.per_user.jobs, **_without_empty(others)}


def _each_users(limits: Limits) -> dict[str, Any]:
    # Slurm has no limit per user on an account, so each user's association has it.
    others = _without_empty({"GrpTRESMins": tres(limits.per_user_minutes)})
    return {"GrpTRES": tres(limits.per_user), "GrpJobs": limits.per_user.jobs, **others}


def tres(amounts: Amounts) -> dict[str, int]:
    """Return amounts by the names of their TRES in Slurm."""
    named = {
        "cpu": amounts.cpu,
        "mem": amounts.mem,
        "node": amounts.nodes,
        "billing": amounts.billing,
        "gres/gpu": amounts.gpu,
        **{f"gres/gpu:{gpu}": count for gpu, count in amounts.gpus.items()},
    }
    return {key: value for key, value in named.items() if value is not None}
