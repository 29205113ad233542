"""job_submit.lua from a Cluster: what Slurm's own settings cannot say of a job at its submission."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gpupool.cluster.model import Cluster, Partition
from gpupool.cluster.units import format_size
from gpupool.compile.slurm import cpus, site
from gpupool.compile.slurm.budgets import FILE, TOO_OLD, default_time, has_budgets, prices
from gpupool.compile.slurm.priority import step_down
from gpupool.compile.slurm.times import timed
from gpupool.compile.template import fill
from gpupool.slurm.releases import has
from gpupool.slurm.times import minutes

_TRES = ("tres_per_job", "tres_per_node", "tres_per_task", "tres_per_socket")
_MEMORY = ("min_mem_per_node", "min_mem_per_cpu", "mem_per_tres")
_CPUS = ("min_cpus", "pn_min_cpus", "cpus_per_task", "cpus_per_tres")
_SPREAD = ("min_nodes", "max_nodes", "num_tasks", "ntasks_per_node", "ntasks_per_tres")

# the rules of the template in their order: which data asks for one, and which fields of a changed job it looks at
_RULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "environment": ("export_fix", ()),
    "partition": ("default_partition fitting", ()),
    "queue": ("queues", ()),
    "without_gpu": ("without_gpu", ("partition", *_TRES)),
    "assigned": ("assigned", ("partition",)),
    "folder": ("refused_folders", ("work_dir",)),
    "account": ("accounts", ("account",)),
    "spread": ("spread", ("bitflags",)),
    "components": ("preemptable guests", ("partition", "qos")),
    "gpu_type": ("gpu_types", _TRES),
    "default_qos": ("partition_qos", ()),
    "qos": ("replaced", ("qos", "account")),
    "time": ("timed", ()),
    "default_memory": ("memory_per_cpu whole_memory", ()),
    "memory": ("most_memory", (*_MEMORY, *_TRES, *_CPUS, *_SPREAD)),
    "most_cpus": ("most_cpus", ("features", "shared", *_CPUS, *_TRES, *_SPREAD)),
    "cpus": ("cpus_per_gpu", ()),
    "alone": ("claimed", ("partition", "shared")),
    "rank": ("step_down", ()),
    "budget": ("prices", ("time_limit", "partition", "account", "shared", *_TRES, *_MEMORY, *_CPUS, *_SPREAD)),
    "mail": ("no_mail", ()),
}


def wanted(cluster: Cluster) -> bool:
    """Return whether slurmctld shall ask our plugin: only if the inventory asks for a piece of it."""
    return job_submit_lua(cluster) is not None


@lru_cache(maxsize=4)
def job_submit_lua(cluster: Cluster) -> str | None:
    """Return the plugin's text, None where the inventory asks for none of its pieces."""
    data = _data(cluster)
    rules = {name: fields for name, (asked, fields) in _RULES.items() if any(data[key] for key in asked.split())}
    # what a job has on whole nodes it may not take along to where others are beside it
    moves = dict.fromkeys(("memory", "most_cpus"), ("partition",)) if data["exclusive"] else {}
    fragment = site.fragment(cluster)
    if not rules.keys() - {"mail"} and fragment is None:
        return None
    counts = bool({"default_memory", "memory", "most_cpus", "cpus", "rank", "budget"} & set(rules))
    return fill(
        "job_submit.lua",
        cluster=cluster,
        lua=lua,
        **data,
        fragment=fragment,
        counts_gpus=counts,
        looks_at_gpus=counts or bool({"gpu_type", "without_gpu"} & set(rules)),
        at_submit=list(rules),
        at_change={name: (*fields, *moves.get(name, ())) for name, fields in rules.items() if fields},
    )


def _data(cluster: Cluster) -> dict[str, Any]:
    scheduler = cluster.scheduler
    where = scheduler.default_partition
    # slurm.conf takes one kind of default memory only, and there it is the one for each GPU
    default = scheduler.default_memory
    replaced = _replaced(cluster)
    in_minutes = timed(cluster)
    labs = any(account.kind == "lab" for account in cluster.accounts.values())
    exclusive = {name: True for name, it in cluster.partitions.items() if it.exclusive == "job"}
    return {
        "export_fix": scheduler.export_fix,
        "default_partition": {
            user.name: user.default_partition
            for user in cluster.users.values()
            if where == "per_user" and user.default_partition
        },
        "fitting": list(_fitting(cluster)) if where == "fit" else [],
        "assigned": {name: _assigned(cluster, name) for name, it in cluster.partitions.items() if it.assigned},
        "queues": _queues(cluster) if where == "per_user" or _says_none(cluster) else None,
        "refused_folders": [folder.rstrip("/") for folder in scheduler.refuse_submit_from],
        "gpu_types": list(cluster.gpu_types) if scheduler.untyped_gpus == "refuse" else [],
        "accounts": {name.lower(): True for name in ("root", *cluster.accounts)}
        if replaced and cluster.slurm.exact_accounting
        else {},
        "spread": bool(cluster.gpu_types),
        "preemptable": {name: True for name, it in cluster.partitions.items() if it.preemptable},
        "guests": {name: True for name, it in cluster.qos.items() if it.preemptable},
        "replaced": replaced,
        "partition_qos": {name: it.default_qos for name, it in cluster.partitions.items() if it.default_qos},
        "own_qos": {name.lower(): True for name in cluster.accounts if cluster.qos_of(name)},
        "without_gpu": {name: it.without_gpu for name, it in cluster.partitions.items() if it.without_gpu},
        "default_times": {
            name: default_time(cluster, partition)
            for name, partition in cluster.partitions.items()
            if partition.default_time is not None and (replaced or in_minutes or has_budgets(cluster))
        },
        "timed": in_minutes,
        "default_qos": cluster.default_qos or "normal",
        "walls": {name: minutes(qos.max_wall) for name, qos in cluster.qos.items() if qos.max_wall is not None},
        "memory_per_cpu": default.per_cpu if default.per_gpu is not None else None,
        "most_memory": {
            unit: {"mib": most, "words": format_size(most), "option": f"--mem-per-{unit.lower()}"}
            for unit, most in (("GPU", scheduler.max_memory.per_gpu), ("CPU", scheduler.max_memory.per_cpu))
            if most is not None
        },
        "default_cpus": cpus.by_default(cluster),
        "default_queue": next((name for name, it in cluster.partitions.items() if it.default), ""),
        "most_cpus": cpus.most(cluster),
        "cpus_per_gpu": scheduler.warn_cpus_per_gpu,
        "exclusive": exclusive,
        # else Slurm gives all memory of the node
        "whole_memory": bool(exclusive) and any(each is not None for _, each in default),
        "claimed": {
            name: True for name, it in cluster.partitions.items() if it.preemptable or (labs and _gpus(cluster, it))
        },
        "step_down": step_down(cluster),
        "without_gpus": {name: True for name, it in cluster.partitions.items() if not _gpus(cluster, it)},
        "prices": prices(cluster),
        "typed_prices": any(it.billing.gpus for it in cluster.partitions.values()),
        "budgets_file": FILE,
        "too_old": TOO_OLD,
        "billing_unit": scheduler.billing_unit,
        "no_mail": "mailprog" not in map(str.lower, cluster.slurm.parameters),
    }


def _gpus(cluster: Cluster, partition: Partition) -> int:
    return sum(cluster.nodes[name].gpu_count for name in partition.nodes)


def _says_none(cluster: Cluster) -> bool:
    # not said at all is none as well, but asks for nothing: Slurm's own words must do
    return cluster.scheduler.default_partition == "none" and "default_partition" in cluster.scheduler.model_fields_set


def _fitting(cluster: Cluster) -> Iterator[dict[str, Any]]:
    for partition in cluster.partitions.values():
        # never send a job to a preemptable partition that it did not ask for
        if not partition.preemptable:
            named = (partition.allow_accounts, partition.deny_accounts)
            only, never = (dict.fromkeys(_with_those_below(cluster, names), True) for names in named)
            users = None
            if partition.assigned or partition.allow_groups:
                users = {user.name: True for user in cluster.users.values() if cluster.let_in(partition, user)}
            yield {"name": partition.name, "only": only, "never": never, "users": users}


def _with_those_below(cluster: Cluster, names: Sequence[str]) -> list[str]:
    """Return accounts with those below them, where Slurm takes these for named, too."""
    accounts = list(names)
    for name in accounts if has(cluster.slurm.version, "hierarchical AllowAccounts") else ():
        below = [account.name for account in cluster.accounts.values() if account.parent == name]
        accounts += [account for account in below if account not in accounts]
    return accounts


def _assigned(cluster: Cluster, partition: str) -> dict[str, bool]:
    return {user.name: True for user in cluster.users.values() if partition in user.partitions}


def _queues(cluster: Cluster) -> str:
    return f"Specify a partition with --partition (-p): {', '.join(cluster.partitions)}."


def _replaced(cluster: Cluster) -> dict[str, dict[str, str]]:
    replaced: dict[str, dict[str, str]] = {}
    for name, qos in cluster.qos.items():
        for account in qos.default_for if qos.replaces else ():
            replaced.setdefault(account, {}).update(dict.fromkeys(qos.replaces, name))
    return replaced


def lua(value: str | float | Mapping[str, Any] | Sequence[Any]) -> str:
    """Return a value as Lua writes it: strings, numbers, truth, lists and tables by name."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + re.sub(r'[\\"\x00-\x1f\x7f]', lambda odd: f"\\{ord(odd[0]):03}", value) + '"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"[{lua(key)}] = {lua(each)}" for key, each in value.items()) + " }" if value else "{}"
    if isinstance(value, Sequence):
        return "{ " + ", ".join(lua(each) for each in value) + " }" if value else "{}"
    return str(value)
