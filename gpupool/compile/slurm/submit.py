"""job_submit.lua from a Cluster: rules for jobs that Slurm's own settings cannot express.

The rules are static Lua in `templates/job_submit`. Before them is one table, `site`, with the inventory's data; a rule
applies if `site` has its data.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from gpupool.cluster import accounting_file
from gpupool.cluster.model import Cluster
from gpupool.cluster.partition import Partition
from gpupool.compile import lua
from gpupool.compile.slurm import budgets, cpus, memory, partition_limits, site
from gpupool.compile.slurm.gres import OUT_OF_SERVICE, closed
from gpupool.compile.slurm.priority import step_down
from gpupool.compile.slurm.times import timed
from gpupool.compile.template import TEMPLATES
from gpupool.slurm.releases import has
from gpupool.slurm.times import minutes

SOURCES = TEMPLATES / "job_submit"
#: Parts of the plugin in their order: each can use what the parts before it return, by their names.
_PARTS = (
    "request",
    "amounts",
    "fragment",
    "sizes",
    "messages",
    "placement",
    "limits",
    "qos",
    "memory",
    "preemption",
    "budgets",
    "gpus",
)
#: Maximum bytes of a job's script, of a line of #SBATCH in it, and of a text that Slurm does not limit; maximum tasks;
#: maximum names in a list of nodes.
SIZES = {"script": 524_288, "line": 16_384, "text": 4096, "tasks": 1_000_000, "hosts": 10_000}
_HEAD = """\
-- Written by gpupool from the inventory of {cluster}; changes made here are undone by the next apply.
-- slurmctld calls it for every job, at its submission and at every change.

"""


def wanted(cluster: Cluster) -> bool:
    """Return whether slurm.conf must name the plugin: if the inventory has data for a rule, or a fragment."""
    return "submit" not in cluster.slurm.left and job_submit_lua(cluster) is not None


@lru_cache(maxsize=4)
def job_submit_lua(cluster: Cluster) -> str | None:
    """Return the plugin's text; None if the inventory has no data for its rules and no fragment.

    If `slurm.left` names submit, it is the site's own file, without a rule of gpupool's.
    """
    data = {name: value for name, value in _of_rules(cluster).items() if value}
    fragment = site.text(cluster, "job_submit.lua")
    if "submit" in cluster.slurm.left:
        return fragment
    if not data and fragment is None:
        return None
    data |= {name: value for name, rules, value in _besides(cluster) if value and not data.keys().isdisjoint(rules)}
    # These alone need no plugin: slurmctld has its own limits, and the message about mail is of little use.
    data = {"sizes": SIZES} | data
    data |= {"no_mail": True} if "mailprog" not in map(str.lower, cluster.slurm.parameters) else {}
    table = "".join(f"  {name} = {lua.laid_out(value, len(name) + 5, '  ')},\n" for name, value in data.items())
    if fragment is not None:
        table += f"  fragment = {lua.long_string(fragment)},\n"
    return f"{_HEAD.format(cluster=cluster.name)}local site = {{\n{table}}}\n\n{static()}"


@cache
def static() -> str:
    """Return the part of the plugin that is the same on every cluster."""
    parts = (f"local {name} = (function()\n{_source(name)}end)()\n\n" for name in _PARTS)
    return "".join(parts) + _source("plugin")


def _source(name: str) -> str:
    return (SOURCES / f"{name}.lua").read_text(encoding="utf-8")


def _of_rules(cluster: Cluster) -> dict[str, Any]:
    """Return the data of each rule by its name, in the order of plugin.lua; empty data if a rule is not needed."""
    scheduler, partitions = cluster.scheduler, cluster.partitions
    # slurm.conf accepts one kind of default memory only: if there are two, it has the one per GPU.
    default = scheduler.default_memory
    replaced = _replaced(cluster)
    names_partitions = scheduler.default_partition == "per_user" or _is_none_set(cluster)
    return {
        "export_fix": scheduler.export_fix,
        "user_partitions": _user_partitions(cluster) if scheduler.default_partition == "per_user" else {},
        "fitting": list(_fitting(cluster)) if scheduler.default_partition == "fit" else [],
        "partition_names": list(partitions) if names_partitions else [],
        "without_gpu": {name: partition.without_gpu for name, partition in partitions.items() if partition.without_gpu},
        "assigned": {
            name: _assigned(cluster, name) for name, partition in partitions.items() if partition.entry.is_assigned
        },
        "refused_folders": [folder.rstrip("/") for folder in scheduler.refuse_submit_from],
        "accounts": _names(
            name.lower() for name in ("root", *cluster.accounts, *accounting_file.accounts(cluster.attached))
        )
        if replaced and cluster.slurm.exact_accounting
        else {},
        "refuse_fatal": bool(cluster.gpu_types),
        "preemptable_partitions": _names(name for name, partition in partitions.items() if partition.preemptable),
        "preemptable_qos": _names(name for name, qos in cluster.qos.items() if qos.preemptable),
        "out_of_service": OUT_OF_SERVICE if any(closed(cluster, node) for node in cluster.nodes.values()) else "",
        "refuse_repeated": bool(cluster.gpu_types),
        "gpu_types": list(cluster.gpu_types) if scheduler.untyped_gpus == "refuse" else [],
        "cpus_by_type": cpus.differing(cluster),
        "partition_limits": partition_limits.of_plugin(cluster),
        "partition_qos": {
            name: {"qos": partition.entry.default_qos, **_accounts(cluster, partition)}
            for name, partition in partitions.items()
            if partition.entry.default_qos
        },
        "replaced": replaced,
        "timed": timed(cluster),
        # Without a default, Slurm allocates all memory of a node.
        "whole_memory": bool(_exclusive(cluster)) and any(amount is not None for _, amount in default),
        "memory_per_gpu": memory.by_type(cluster, default),
        "memory_per_cpu": default.per_cpu if default.per_gpu is not None else None,
        "most_memory": {unit: most for unit, most in _most_memory(cluster) if most},
        "most_cpus": cpus.most(cluster),
        "recommended_cpus": scheduler.warn_cpus_per_gpu,
        "claimed": _names(
            name
            for name, partition in partitions.items()
            if partition.preemptable or not cluster.nodes_with_rights.isdisjoint(partition.nodes)
        ),
        "step_down": step_down(cluster),
        "budget": budgets.of_plugin(cluster),
    }


def _besides(cluster: Cluster) -> Iterator[tuple[str, Sequence[str], Any]]:
    """Yield further data: its name, the rules that need it, and the data."""
    partitions = cluster.partitions
    of_memory = ("memory_per_gpu", "memory_per_cpu", "whole_memory", "most_memory")
    counted = (*of_memory, "cpus_by_type", "most_cpus", "recommended_cpus", "step_down", "budget", "partition_limits")
    walls = {name: minutes(qos.wall) for name, qos in cluster.qos.items() if qos.wall is not None}
    times = {
        name: budgets.default_time(cluster, partition)
        for name, partition in partitions.items()
        if partition.default_time is not None
    }
    yield "own_qos", ("partition_qos",), _names(name.lower() for name in cluster.accounts if cluster.qos_of(name))
    yield "walls", ("replaced", "timed"), walls
    yield "default_times", ("replaced", "timed", "budget"), times
    yield "admits", ("timed",), dict(_admits(cluster))
    yield "default_qos", ("preemptable_qos", "timed", "partition_limits"), cluster.default_qos or "normal"
    yield "default_queue", counted, next((name for name, partition in partitions.items() if partition.default), "")
    yield "default_cpus", counted, cpus.by_default(cluster)
    yield "exclusive", counted, _exclusive(cluster)
    yield "only_types", ("gpu_types",), dict(_only_types(cluster))
    yield (
        "without_labs",
        ("step_down",),
        _names(name for name, partition in partitions.items() if not _has_gpus_of_labs(cluster, partition)),
    )


def _most_memory(cluster: Cluster) -> Iterator[tuple[str, dict[str, int]]]:
    most = cluster.scheduler.max_memory
    yield "GPU", memory.by_type(cluster, most)
    yield "CPU", {} if most.per_cpu is None else {"": most.per_cpu}


def _names(names: Iterable[str]) -> dict[str, bool]:
    return dict.fromkeys(names, True)


def _exclusive(cluster: Cluster) -> dict[str, bool]:
    return _names(name for name, partition in cluster.partitions.items() if partition.entry.exclusive == "job")


def _user_partitions(cluster: Cluster) -> dict[str, str]:
    return {user.name: user.entry.default_partition for user in cluster.users.values() if user.entry.default_partition}


def _has_gpus_of_labs(cluster: Cluster, partition: Partition) -> bool:
    return any(cluster.nodes[name].all_gpu_count for name in cluster.nodes_with_rights.intersection(partition.nodes))


def _is_none_set(cluster: Cluster) -> bool:
    # "none" is also the default, for which Slurm's own message is enough
    return cluster.scheduler.default_partition == "none" and "default_partition" in cluster.scheduler.model_fields_set


def _only_types(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Yield each partition whose GPUs have one type, and the type."""
    for name, partition in cluster.partitions.items():
        types = {gpu for node in partition.nodes for gpu in cluster.nodes[node].all_gpus}
        if len(types) == 1:
            yield name, types.pop()


def _fitting(cluster: Cluster) -> Iterator[dict[str, Any]]:
    for partition in cluster.partitions.values():
        # A job must not be sent to a preemptable partition that it did not request.
        if not partition.preemptable:
            gpus = dict.fromkeys(gpu for name in partition.nodes for gpu in cluster.nodes[name].all_gpus)
            admits: dict[str, Any] = {"name": partition.name, "gpus": _names(gpus)} | _accounts(cluster, partition)
            if partition.entry.is_assigned or partition.entry.allow_groups:
                admits["users"] = _names(
                    user.name for user in cluster.users.values() if cluster.admits_user(partition, user)
                )
            yield admits


def _accounts(cluster: Cluster, partition: Partition) -> dict[str, Any]:
    """Return the accounts that a partition admits (`only`) or refuses (`never`), in lower case as Slurm has them."""
    for key, accounts in (("only", partition.allow_accounts), ("never", partition.deny_accounts)):
        if accounts:
            return {key: _names(name.lower() for name in _with_those_below(cluster, accounts))}
    return {}


def _admits(cluster: Cluster) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each partition that does not admit all jobs, with its accounts, and its QoS in lower case."""
    for name, partition in cluster.partitions.items():
        admits = _accounts(cluster, partition)
        if partition.entry.qos:
            admits["qos"] = _names(qos.lower() for qos in partition.entry.qos)
        if admits:
            yield name, admits


def _with_those_below(cluster: Cluster, names: Sequence[str]) -> list[str]:
    """Return accounts and, if AllowAccounts of this Slurm includes them, the accounts below them."""
    accounts = list(names)
    for name in accounts if has(cluster.slurm.version, "hierarchical AllowAccounts") else ():
        below = [account.name for account in cluster.accounts.values() if account.parent == name]
        accounts += [account for account in below if account not in accounts]
    return accounts


def _assigned(cluster: Cluster, partition: str) -> dict[str, bool]:
    return _names(user.name for user in cluster.users.values() if partition in user.entry.partitions)


def _replaced(cluster: Cluster) -> dict[str, dict[str, str]]:
    replaced: dict[str, dict[str, str]] = {}
    for name, qos in cluster.qos.items():
        for account in qos.default_for if qos.replaces else ():
            replaced.setdefault(account, {}).update(dict.fromkeys(qos.replaces, name))
    return replaced
