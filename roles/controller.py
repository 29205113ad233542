"""slurmctld: the controller, and the backup that takes over."""

from gpupool.cluster.model import Cluster, Node
from gpupool.compile import files_of
from gpupool.compile.slurm.reservations import reservations as wanted_reservations
from gpupool.operations import files, reservations, slurm_daemon
from gpupool.roles import is_controller, is_first_controller, where
from gpupool.wanted import Directory

applies = is_controller


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """A changed slurm.conf is read by `scontrol reconfigure` where its keys allow that: running jobs notice nothing."""
    own = files_of(cluster, node, "controller")
    files.put(name="Controller unit", files=own, read_by="slurmctld.service")
    files.put(name="Controller state", directories=[Directory(cluster.slurm.state, "slurm", "slurm", "0755")])
    first = node == cluster.controllers[0]
    slurm_daemon.running(
        name="Slurm controller",
        unit="slurmctld",
        version=cluster.slurm.version,
        restart_if=[file.path for file in own],
        reload_if=[file.path for file in files_of(cluster, node, "slurm")],
        # the backup reads its own files again; the first controller informs the whole cluster once
        reload_command=["scontrol", "reconfigure"] if first else ["systemctl", "reload", "slurmctld"],
        # going on after a reconfigure that failed it may write another ClusterID there, with which it never starts
        state_file=f"{cluster.slurm.state}/clustername",
    )


@where(is_first_controller)
def reserve(cluster: Cluster, node: Node) -> None:
    """Once accounts and nodes are there: slurmctld takes no reservation of what it does not know."""
    reservations.reserved(name="Reservations", wanted=wanted_reservations(cluster))
