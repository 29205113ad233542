"""Slurm's configuration, on the nodes that have it as files. Other nodes get it from the controller."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.slurm.conf import compute_nodes, has_files
from gpupool.compile.slurm.jobs import TMP_CONF
from gpupool.operations import files, slurm, slurm_version, trial
from gpupool.roles import where
from gpupool.slurm.releases import takes_over_from


def applies(cluster: Cluster, node: Node) -> bool:
    """On all nodes with a part of Slurm."""
    return node.runs_slurm


@where(applies)
def refuse_other_release(cluster: Cluster, node: Node) -> None:
    """Refuse a node with another release of Slurm, before any change."""
    own = cluster.slurm.version
    slurm_version.refuse_another(name="Slurm version", version=own, takes_over_from=list(takes_over_from(own)))


@where(has_files)
def refuse_to_end_jobs(cluster: Cluster, node: Node) -> None:
    """Refuse a change that would end jobs, before any change, on the nodes with configuration files."""
    slurm.refuse_job_loss(
        name="Running jobs",
        files=files_of(cluster, node, "slurm"),
        partitions=list(cluster.partitions),
        nodes=compute_nodes(cluster),
        idle=[TMP_CONF],
    )


@where(has_files)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the configuration before any daemon reads it, so that all controllers have the same files.

    The first controller is first: if it refuses the files, no other node gets them.
    """
    wanted = files_of(cluster, node, "slurm")
    first = cluster.controllers[0]
    if node != first:
        slurm.require_accepted_by(name="Configuration tried", first=first.name, files=wanted)
    files.put(name="Slurm configuration", files=wanted, check=trial.check(), read_by="slurmctld.service")
