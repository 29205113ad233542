"""Slurm's configuration, on the nodes that have it as files. Other nodes get it from the controller."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.conf import SLURM_CONF, compute_node, compute_nodes, has_files
from gpupool.compile.slurm.heart import heart_of
from gpupool.compile.slurm.jobs import TMP_CONF
from gpupool.compile.slurm.names import spool
from gpupool.distributions.slurm import programs
from gpupool.operations import files, other_hosts, remains, slurm, slurm_user, slurm_version, trial
from gpupool.roles import follows_controller, is_controller, where
from gpupool.slurm.upgrades import takes_over_from
from gpupool.wanted import Directory

#: The directory of the daemons' logs.
LOGS = "/var/log/slurm"
#: The roles with a daemon of Slurm.
DAEMONS = ("controller", "database", "compute", "head")


def applies(cluster: Cluster, node: Node) -> bool:
    """On all nodes with a part of Slurm."""
    return node.runs_slurm


@where(applies, "slurm", "base", *DAEMONS)
def refuse_other_release(cluster: Cluster, node: Node) -> None:
    """Refuse a node with another release of Slurm, before any change; or without the Slurm that the site has put."""
    own = cluster.slurm.version
    if cluster.slurm.packages == "site":
        if has_files(cluster, node):
            prefix, conf = cluster.slurm.prefix, cluster.slurm.file(SLURM_CONF)
            slurm_version.refuse_another_of_site(name="Slurm of the site", version=own, prefix=prefix, conf=conf)
        return
    slurm_version.refuse_another(
        name="Slurm version",
        version=own,
        packages=programs(node.system),
        takes_over_from=list(takes_over_from(own)),
    )


@where(applies, "base")
def refuse_another_number(cluster: Cluster, node: Node) -> None:
    """Refuse a node whose user slurm has another uid than the first controller's, before any change."""
    first = cluster.controllers[0]
    source = None if node == first else first.name
    slurm_user.refuse_another_number(name="Number of the user slurm", source=source)


def is_of_schedmd(cluster: Cluster, node: Node) -> bool:
    """On nodes with a part of Slurm, if its packages are SchedMD's."""
    return applies(cluster, node) and cluster.slurm.packages == "schedmd"


def may_lack_user(cluster: Cluster, node: Node) -> bool:
    """On nodes whose packages do not create the user slurm, or with another uid than the first controller's."""
    return follows_controller(cluster, node) or is_of_schedmd(cluster, node)


@where(may_lack_user, "base")
def have_user(cluster: Cluster, node: Node) -> None:
    """Create the user slurm with the first controller's uid, before packages create it with their own, or none does."""
    first = cluster.controllers[0]
    source = None if node == first else first.name
    slurm_user.present(name="User slurm", source=source, packaged=not is_of_schedmd(cluster, node))


@where(is_of_schedmd, "base")
def have_log_folder(cluster: Cluster, node: Node) -> None:
    """Give the directory of logs to the user slurm, which SchedMD's packages leave to root."""
    files.put(name="Logs of Slurm", directories=[Directory(LOGS, "slurm", "slurm", "0755")])


def keeps_cluster(cluster: Cluster, node: Node) -> bool:
    """On controllers and the node of the database."""
    return is_controller(cluster, node) or node == cluster.database


@where(keeps_cluster, "controller", "database", "munge")
def refuse_to_begin_anew(cluster: Cluster, node: Node) -> None:
    """Refuse to start the cluster without its munge key, queue or database, before any change."""
    remains.refuse_to_begin_anew(name="Parts of the cluster", node=node.name, heart=heart_of(cluster))


@where(has_files)
def refuse_to_end_jobs(cluster: Cluster, node: Node) -> None:
    """Refuse a change that would end jobs, before any change, on the nodes with configuration files."""
    slurm.refuse_job_loss(
        name="Running jobs",
        files=files_of(cluster, node, "slurm"),
        partitions=list(cluster.partitions),
        nodes=compute_nodes(cluster),
        idle=[cluster.slurm.file(TMP_CONF)],
        spool=cluster.slurm.spool,
    )


def runs_jobs(cluster: Cluster, node: Node) -> bool:
    """On compute nodes."""
    return node.has("compute")


@where(runs_jobs, "compute")
def refuse_to_lose_steps(cluster: Cluster, node: Node) -> None:
    """Refuse a slurmd that would not find the steps of running jobs, before any change."""
    slurm.refuse_other_spool(name="Steps of jobs", node=node.slurm_name, spool=spool(cluster, node))


def changes_alone(cluster: Cluster, node: Node) -> bool:
    """On compute nodes, in a run without the first controller."""
    return node.has("compute") and not other_hosts.takes_part(cluster.controllers[0].name)


@where(changes_alone, "compute")
def refuse_to_change_alone(cluster: Cluster, node: Node) -> None:
    """Refuse a compute node that slurmctld knows with other resources, if the first controller is not in this run."""
    own = compute_node(cluster, node)
    slurm.refuse_other_shape(name="CPUs and GPUs in Slurm", node=own, first=cluster.controllers[0].name)


@where(has_files)
def apply(cluster: Cluster, node: Node) -> None:
    """Install the configuration before any daemon reads it, so that all controllers have the same files.

    The first controller is first: if it refuses the files, no other node gets them.
    """
    wanted = files_of(cluster, node, "slurm")
    first = cluster.controllers[0]
    if node != first:
        slurm.require_accepted_by(name="Configuration tried", first=first.name, files=wanted)
    trial_of_all = trial.check(cluster.slurm.version, cluster.slurm.file(SLURM_CONF))
    files.put(name="Slurm configuration", files=wanted, check=trial_of_all, read_by="slurmctld.service")
