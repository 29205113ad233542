"""The order of an upgrade: slurmdbd, backup controllers, the first controller, compute nodes, then all others."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.errors import UsageError
from gpupool.slurm.releases import has

#: The steps that copy files for the upgrade to nodes, and remove them afterwards.
FETCH, TIDY = "Packages", "Afterwards"
Kind = Literal["slurmdbd", "backup controllers", "the first controller", "compute nodes", "the others"]


@dataclass(frozen=True)
class Stage:
    """Nodes that are upgraded in the same stage; a node is in the first stage for which it has a role."""

    kind: Kind
    nodes: tuple[Node, ...]


def ensure_upgradable(cluster: Cluster) -> None:
    """Raise UsageError for an inventory that cannot be upgraded."""
    if cluster.slurm.packages == "site":
        why = "the site upgrades Slurm itself, in Slurm's order, and then sets slurm.version"
        raise UsageError(f"gpupool upgrades no Slurm with slurm.packages: site; {why}")
    if cluster.slurm.backup is None:
        raise UsageError("the inventory has no slurm.backup: without a backup an upgrade cannot be rolled back")
    if cluster.database.has("compute") and cluster.database != cluster.controllers[0]:
        # slurmd would be newer than slurmctld, or stopped while slurmdbd converts its database
        raise UsageError(f"{cluster.database.name} has the roles database and compute: remove compute for the upgrade")


def stages(cluster: Cluster, names: Collection[str]) -> tuple[Stage, ...]:
    """Return the stages of these nodes, without empty stages.

    A backup controller that is also a compute node comes after the first controller: slurmd may not be newer.
    """
    first = cluster.controllers[0]
    left = [node for node in cluster.nodes.values() if node.name in names]
    ordered: list[Stage] = []

    def take(kind: Kind, chosen: list[Node]) -> None:
        if chosen:
            ordered.append(Stage(kind, tuple(chosen)))
            left[:] = [node for node in left if node not in chosen]

    take("slurmdbd", [node for node in left if node.has("database")])
    take("backup controllers", [node for node in left if node.has("backup-controller") and not node.has("compute")])
    take("the first controller", [node for node in left if node == first])
    take("backup controllers", [node for node in left if node.has("backup-controller")])
    take("compute nodes", [node for node in left if node.has("compute")])
    take("the others", left[:])
    return tuple(ordered)


def daemons(cluster: Cluster, node: Node) -> tuple[str, ...]:
    """Return Slurm's units on a node, in the order in which they are stopped."""
    return (
        *(("slurmctld",) if node.has("controller", "backup-controller") else ()),
        *(("slurmdbd",) if node.has("database") else ()),
        *(("sackd",) if node.has("head") and has(cluster.slurm.version, "sackd") else ()),
        *(("slurmd",) if node.has("compute") else ()),
    )


def batches(nodes: Collection[Node], at_most: int) -> list[list[Node]]:
    """Return the nodes in groups that are changed together; the first node is a group alone."""
    ordered = list(nodes)
    return [ordered[:1], *(ordered[at:][:at_most] for at in range(1, len(ordered), at_most))] if ordered else []
