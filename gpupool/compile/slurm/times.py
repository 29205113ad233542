"""Time limits of jobs without --time, where limits are in minutes, or a QoS has a wall above a partition's max_time.

Slurm gives such a job all minutes of the limit, or the whole wall, and refuses it if its partition has a shorter
max_time (_set_time_limit() in acct_policy.c). A DefaultTime would prevent that, but also hide the shorter wall of a
job's QoS: so the submit plugin sets the time.
"""

from typing import Any

from gpupool.cluster.accounts import Account
from gpupool.cluster.model import Cluster
from gpupool.cluster.schema.labs import Limits
from gpupool.compile.slurm.budgets import has_budgets
from gpupool.slurm.times import minutes

# Limits of sacctmgr for which the inventory has no key.
_OF_A_JOB = ("maxtresmins", "maxtresminsperjob")


def timed(cluster: Cluster) -> dict[str, Any]:
    """Return the accounts, QoS and partitions with limits in minutes, QoS that are longer, and walls of accounts.

    It is empty if Slurm sets the time of all jobs.
    """
    accounts = [account for account in cluster.accounts.values() if any(map(_counts, _with_parents(cluster, account)))]
    if has_budgets(cluster) and _walls(cluster):
        # With budgets, every partition has a default time.
        accounts = list(cluster.accounts.values())
    places = {
        "accounts": {account.name.lower(): True for account in accounts},
        "qos": {name.lower(): True for name, qos in cluster.qos.items() if _minutes(qos.limits, qos.parameters)},
        "partitions": {name: True for name, partition in cluster.partitions.items() if _minutes(partition.limits, {})},
        "longer": {name.lower(): True for name in cluster.qos if _is_longer(cluster, name)},
    }
    if not any(places.values()):
        return {}
    walls = ((account, next(_walls_above(cluster, account), None)) for account in cluster.accounts.values())
    return {**places, "walls": {account.name.lower(): minutes(wall) for account, wall in walls if wall is not None}}


def _walls(cluster: Cluster) -> bool:
    own = [account.limits.per_job.wall for account in cluster.accounts.values()]
    return any(wall is not None for wall in (*own, *(qos.wall for qos in cluster.qos.values())))


def _is_longer(cluster: Cluster, name: str) -> bool:
    """Return whether a QoS has a wall above the max_time of a partition that takes it and has no default time."""
    wall = cluster.qos[name].wall
    without = [place.entry for place in cluster.partitions.values() if place.default_time is None]
    return wall is not None and any(
        place.max_time is not None and place.max_time < wall and place.allows_qos(name) for place in without
    )


def _counts(account: Account) -> bool:
    return _minutes(account.limits, account.entry.parameters)


def _minutes(limits: Limits, parameters: Any) -> bool:
    kinds = (limits.group_minutes, limits.per_user_minutes)
    given = any(value not in (None, {}) for amounts in kinds for _, value in amounts)
    return given or not {*_OF_A_JOB}.isdisjoint(map(str.lower, parameters))


def _with_parents(cluster: Cluster, account: Account) -> list[Account]:
    """Return an account and its ancestors, nearest first."""
    return [cluster.accounts[name] for name in cluster.with_parents(account.name)]


def _walls_above(cluster: Cluster, account: Account) -> Any:
    # An account without a wall inherits that of its parent.
    return (wall for account in _with_parents(cluster, account) if (wall := account.limits.per_job.wall) is not None)
