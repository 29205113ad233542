"""slurmctld, on the controller and its backups."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.slurm.heart import heart_of
from gpupool.compile.slurm.outages import drains, in_service
from gpupool.compile.slurm.reservations import reservations as wanted_reservations
from gpupool.operations import files, outages, remains, reservations, slurm_daemon
from gpupool.roles import is_controller, is_first_controller, where
from gpupool.wanted import Directory

applies = is_controller


def keeps_queue_elsewhere(cluster: Cluster, node: Node) -> bool:
    """On controllers with their state on a mount."""
    return applies(cluster, node) and bool(heart_of(cluster).mount)


@where(keeps_queue_elsewhere)
def refuse_empty_queue(cluster: Cluster, node: Node) -> None:
    """Refuse to start slurmctld without its queue, after the mount of its state: a new controller has it only now."""
    remains.refuse_to_begin_anew(name="Controller queue", node=node.name, heart=heart_of(cluster), mounted=True)


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start slurmctld. `scontrol reconfigure` loads a changed slurm.conf if its keys allow that, unnoticed by jobs."""
    own = files_of(cluster, node, "controller")
    files.put(name="Controller unit", files=own, read_by="slurmctld.service")
    files.put(name="Controller state", directories=[Directory(cluster.slurm.state, "slurm", "slurm", "0755")])
    load(cluster, node, [file.path for file in own], ours=node.manages("controller"))


def only_reads(cluster: Cluster, node: Node) -> bool:
    """On controllers whose slurmctld the site starts."""
    return applies(cluster, node) and not node.manages("controller")


@where(only_reads, "slurm")
def reconfigure(cluster: Cluster, node: Node) -> None:
    """Have the site's slurmctld read its files, if it runs."""
    load(cluster, node, [], ours=node.manages("controller"))


def load(cluster: Cluster, node: Node, own: list[str], *, ours: bool) -> None:
    """Have slurmctld read the configuration, and the files of its unit (`own`); not `ours`: the site starts it."""
    first = node == cluster.controllers[0]
    slurm_daemon.running(
        name="Slurm controller",
        unit="slurmctld",
        version=cluster.slurm.version,
        restart_if=own,
        reload_if=[file.path for file in files_of(cluster, node, "slurm")],
        # the first controller informs the whole cluster once; a backup only reloads its own files
        reload_command=["scontrol", "reconfigure"] if first else ["systemctl", "reload", "slurmctld"],
        # after a failed reconfigure slurmctld may write another ClusterID to it, with which it would never start again
        state_file=f"{cluster.slurm.state}/clustername",
        ours=ours,
    )


@where(is_first_controller)
def drain(cluster: Cluster, node: Node) -> None:
    """Drain nodes that are out of service."""
    outages.drained(name="Nodes out of service", reasons=drains(cluster))


@where(is_first_controller)
def resume(cluster: Cluster, node: Node) -> None:
    """Resume nodes that are back in service, after they match the inventory."""
    outages.resumed(name="Nodes back in service", names=in_service(cluster))


@where(is_first_controller)
def reserve(cluster: Cluster, node: Node) -> None:
    """Create reservations after accounts and nodes: slurmctld refuses a reservation with unknown ones."""
    reservations.reserved(name="Reservations", wanted=wanted_reservations(cluster))
