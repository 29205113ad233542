"""The accounting database: MariaDB, used over its Unix socket, and slurmdbd."""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.daemons import MARIADB_CONF
from gpupool.operations import database, files, service, slurm_daemon
from gpupool.roles import where


def applies(cluster: Cluster, node: Node) -> bool:
    """On the node of slurmdbd."""
    return node.has("database")


@where(applies)
def apply(cluster: Cluster, node: Node) -> None:
    """Start MariaDB, then slurmdbd."""
    own = files_of(cluster, node, "database")
    files.put(name="Database settings", files=own, read_by="slurmdbd.service")
    service.running(name="MariaDB", unit="mariadb", restart_if=[MARIADB_CONF])
    database.socket_user(name="Accounting database", database="slurm_acct_db", owner="slurm")
    conf = cluster.slurm.file("slurmdbd.conf")
    units = [file.path for file in own if file.path not in (MARIADB_CONF, conf)]
    slurm_daemon.running(
        name="Slurm database daemon",
        unit="slurmdbd",
        version=cluster.slurm.version,
        restart_if=units,
        reload_if=[conf],
    )
