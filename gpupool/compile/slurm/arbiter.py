"""The arbiter's settings: which jobs labmates may preempt, grace times, and the maximum that a job may hold."""

import json
from collections.abc import Iterator
from typing import Any

from gpupool.cluster.accounts import Account
from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.programs import HOME, program
from gpupool.compile.slurm import cpus, memory
from gpupool.compile.slurm.accounting import partition_qos, tres
from gpupool.compile.slurm.hardware import threads
from gpupool.compile.slurm.limits import squeue_memory
from gpupool.compile.slurm.priority import step_down
from gpupool.compile.template import fill
from gpupool.slurm import snapshot
from gpupool.slurm.keys.tables import NEEDED_BY_CAPS
from gpupool.unix import UNITS
from gpupool.wanted import File

SETTINGS = "/etc/gpupool/arbiter.json"
UNIT = f"{UNITS}/gpupool-arbiter.service"


def settings(cluster: Cluster) -> dict[str, Any] | None:
    """Return the content of /etc/gpupool/arbiter.json.

    None if preemption requeues or cancels no job and the inventory has no bounds, or if `slurm.left` leaves to the site
    what the arbiter and its guard count on. A disabled arbiter gets settings with
    which it preempts nothing, because a running arbiter must stop.
    """
    if not NEEDED_BY_CAPS.isdisjoint(cluster.slurm.left):
        return None
    wanted = cluster.preemption.arbiter
    partitions = {
        name: partition
        for name, partition in cluster.partitions.items()
        if partition.preemptable and partition.action != "suspend"
    }
    guests = {name: qos for name, qos in cluster.qos.items() if qos.preemptable}
    held = bounds(cluster)
    if not partitions and not guests and not held:
        return None
    on = wanted is None or wanted.enabled
    preemptable = {} if guests else {name: partition.grace for name, partition in partitions.items()}
    default = cluster.preemption.action
    actions = {name: guest.preempt_action or default for name, guest in guests.items()}
    if not guests:
        actions = {name: partition.action for name, partition in partitions.items() if partition.action != "suspend"}
    return {
        "labmates": [name for name in wanted.partitions if name in preemptable] if wanted and on else [],
        "grace": preemptable if on else {},
        "qos_grace": {name: guest.grace or 0 for name, guest in guests.items()} if on else {},
        "tier": {name: partition.entry.tier for name, partition in cluster.partitions.items()},
        "partition_qos": {
            name: qos for name, partition in cluster.partitions.items() if (qos := partition_qos(partition))
        },
        "parents": {name: account.parent for name, account in cluster.accounts.items() if account.parent != "root"},
        "action": default,
        "actions": {name: action for name, action in actions.items() if action != default},
        "user_signal": cluster.preemption.send_user_signal,
        "interval": wanted.interval if wanted else 15,
        # the arbiter reads the queue as the user slurm, who sees what PrivateData hides from others
        **({} if cluster.scheduler.private_data else {"share": snapshot.PATH}),
        **({"bounds": held} if held else {}),
    }


def bounds(cluster: Cluster) -> dict[str, Any]:
    """Return the bounds with which the guard compares jobs, memory in MiB; empty if the inventory has none."""
    scheduler = cluster.scheduler
    most: dict[str, Any] = {}
    if each := memory.by_type(cluster, scheduler.max_memory):
        # the guard knows the type of each GPU
        most["per_gpu"] = {kind: mib for kind, mib in each.items() if kind} or each
    if scheduler.max_memory.per_cpu is not None:
        most["per_cpu"] = scheduler.max_memory.per_cpu
    by_type = {kind: count for kind, count in cpus.most(cluster).items() if kind}
    if not most and not by_type:
        return {}
    accounts = {name: held for name, account in cluster.accounts.items() if (held := _of_account(account))}
    lent = [
        *(name for name, partition in cluster.partitions.items() if partition.preemptable),
        *(name for name, qos in cluster.qos.items() if qos.preemptable),
    ]
    return {
        **most,
        **({"accounts": accounts, "lent": lent} if accounts else {}),
        **({"cpus": by_type} if by_type else {}),
        "threads": max(threads(node, cluster.scheduler.allocate) for node in cluster.having("compute")),
        "nice": step_down(cluster) or 0,
        "action": scheduler.guard,
    }


def _of_account(account: Account) -> dict[str, int]:
    """Return the GPUs and CPUs that an account may hold; {} if it has no limit or another system manages it, too."""
    amounts = tres(account.limits.group) if account.exact else {}
    return {key: count for key, count in amounts.items() if key == "cpu" or key.startswith("gres/gpu")}


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the service's program, settings and unit, on controllers; nothing without settings."""
    values = settings(cluster) if node.has("controller", "backup-controller") else None
    if values is None:
        return
    yield from program("arbiter")
    yield File(SETTINGS, json.dumps(values, indent=1) + "\n")
    values_of_unit = {
        "home": HOME,
        "settings": SETTINGS,
        "memory": squeue_memory(cluster),
        "directory": snapshot.DIRECTORY,
    }
    yield File(UNIT, fill("arbiter.service", cluster=cluster, **values_of_unit))
