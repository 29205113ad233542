"""Budgets of accounts: the prices of jobs, and the file from which the submit plugin reads what is left."""

from typing import Any

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.cluster.partition import Partition
from gpupool.slurm.times import minutes

FOLDER = "gpupool-budgets"
FILE = f"/run/{FOLDER}/budgets"
#: Age in seconds from which the plugin ignores the file: if its timer fails, a raised budget must have an effect.
TOO_OLD = 600


def has_budgets(cluster: Cluster) -> bool:
    """Return whether any account has a budget: then usage never decays, and every job has a time limit."""
    return any(account.entry.budget is not None for account in cluster.accounts.values())


def default_time(cluster: Cluster, partition: Partition) -> int | None:
    """Return a partition's DefaultTime in minutes; None for Slurm's default, which is MaxTime."""
    if partition.default_time is not None:
        return minutes(partition.default_time)
    # With budgets, a job without --time would have no price, and never start.
    return minutes(partition.entry.max_time) if partition.entry.max_time and has_budgets(cluster) else None


def tells_budgets(cluster: Cluster, node: Node) -> bool:
    """Return whether a node has the users' command `budget`."""
    return has_budgets(cluster) and node.has("head", "controller", "backup-controller")


def of_plugin(cluster: Cluster) -> dict[str, Any]:
    """Return the data with which the submit plugin prices a job, `too_old` in seconds; empty without budgets."""
    unit = cluster.scheduler.billing_unit
    return {"prices": prices(cluster), "file": FILE, "too_old": TOO_OLD, "unit": unit} if has_budgets(cluster) else {}


def prices(cluster: Cluster) -> dict[str, dict[str, Any]]:
    """Return the price per hour of each resource by partition, and the maximum amount on one of its nodes.

    Memory is in MiB, and its price is per MiB.
    """
    return {
        partition.name: {
            # Without prices, Slurm charges for CPUs.
            "price": _plain(partition) if partition.entry.billing.has_prices else {"cpu": 1},
            "cpu": max(cluster.nodes[name].job_cpus for name in partition.nodes),
            "gpu": max(cluster.nodes[name].all_gpu_count for name in partition.nodes),
            "mem": max(cluster.nodes[name].job_memory for name in partition.nodes),
            **_by_type(cluster, partition),
            **({"exclusive": True} if partition.entry.exclusive == "job" else {}),
        }
        for partition in cluster.partitions.values()
        if partition.nodes
    }


def _plain(partition: Partition) -> dict[str, float]:
    per_gb = partition.entry.billing.plain
    return {**per_gb, "mem": per_gb["mem"] / 1024} if "mem" in per_gb else per_gb


def _by_type(cluster: Cluster, partition: Partition) -> dict[str, Any]:
    """Return the prices of GPUs by type, and the maximum of their sum on one node; empty without prices by type."""
    prices = partition.entry.billing.gpus
    nodes = (cluster.nodes[name].all_gpus for name in partition.nodes)
    whole = max(sum(prices.get(gpu, 0) * count for gpu, count in gpus.items()) for gpus in nodes)
    return {"gpus": prices, "whole": whole} if prices else {}
