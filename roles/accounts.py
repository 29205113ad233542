"""Accounts, users, QoS and limits in slurmdbd, in two steps, because slurmctld and slurmdbd depend on each other."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.slurm.accounting import entities
from gpupool.compile.system.members import roster_for
from gpupool.operations import accounting
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On the node of slurmdbd."""
    return node.has("database")


@where(applies)
def names(cluster: Cluster, node: Node) -> None:
    """Create accounts and QoS before slurmctld starts: it exits if a partition names a QoS that slurmdbd lacks."""
    accounting.entities(name="Account names", wanted=entities(cluster), limits=False, keep=True)


@where(applies)
def limits(cluster: Cluster, node: Node) -> None:
    """Set limits and users after slurmctld has started: slurmdbd learns of gres/gpu only then."""
    accounting.entities(
        name="Account limits",
        wanted=entities(cluster),
        roster=roster_for(cluster),
        end_running=cluster.policies.jobs_of_removed_users == "end",
        keep=True,
    )
