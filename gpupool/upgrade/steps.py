"""The steps of an upgrade on a node, as pyinfra deploys.

Each operation is called on its own line, because pyinfra identifies operations by line.
"""

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile import files_of
from gpupool.compile.system.backup import COMMAND
from gpupool.compile.system.packages import packages_for
from gpupool.engine.current import cluster_and_node
from gpupool.operations import files, restore, service, slurm_upgrade
from gpupool.operations.together import barrier
from gpupool.roles import database as roles_database
from gpupool.slurm.upgrades import takes_over_from
from gpupool.upgrade.order import FETCH, TIDY, daemons


def look() -> None:
    """Plan the upgrade of a node; an operation raises an error if it is impossible."""
    cluster, node = cluster_and_node()
    _fetch(cluster, node)
    _install(cluster, node)
    slurm_upgrade.tidied(name=TIDY)


def fetch() -> None:
    """Fetch the packages on all nodes before any node is changed."""
    cluster, node = cluster_and_node()
    _fetch(cluster, node)


def change() -> None:
    """Replace the packages; the apply that follows starts a controller with its new files."""
    cluster, node = cluster_and_node()
    _install(cluster, node)


def database() -> None:
    """Replace the packages and wait until slurmdbd has converted its database."""
    cluster, node = cluster_and_node()
    _install(cluster, node)
    roles_database.apply(cluster, node)
    slurm_upgrade.answering(name="The converted database")


def back(former: Cluster, backup: str) -> None:
    """Restore the former slurmdbd: the former packages, and the database from the backup."""
    cluster, node = cluster_and_node()
    own = daemons(cluster, node)
    slurm_upgrade.rolled_back(name="Former packages", release=cluster.slurm.version, units=list(own), start=[])
    # started only after the restore: the former slurmdbd does not run on a half-converted database
    files.put(name="Database settings", files=files_of(former, node, "database"), read_by="slurmdbd.service")
    restore.database(name="Former database", program=COMMAND, backup=backup, aside=True)
    slurm_upgrade.answering(name="The former database")
    if "slurmctld" in own:
        service.running(name="Slurm controller", unit="slurmctld")
    # slurmd and sackd ask slurmctld for their configuration when they start
    if "slurmd" in own:
        service.running(name="Slurm node daemon", unit="slurmd")
    if "sackd" in own:
        service.running(name="Slurm client daemon", unit="sackd")
    slurm_upgrade.tidied(name=TIDY)


def tidy() -> None:
    """Remove the files of the upgrade after all nodes have finished."""
    barrier(name="All nodes are upgraded")
    slurm_upgrade.tidied(name=TIDY)


def _fetch(cluster: Cluster, node: Node) -> None:
    own = cluster.slurm.version
    slurm_upgrade.fetched(
        name=FETCH,
        release=own,
        takes_over_from=list(takes_over_from(own)),
        needed=list(packages_for(cluster, node)),
        way_back=node.has("database"),
    )


def _install(cluster: Cluster, node: Node) -> None:
    own = daemons(cluster, node)
    slurm_upgrade.installed(
        name="Slurm",
        release=cluster.slurm.version,
        units=list(own),
        start=[] if node in (cluster.database, cluster.controllers[0]) else _at_once(own),
        backup=COMMAND if node.has("database") else "",
    )


def _at_once(own: tuple[str, ...]) -> list[str]:
    return [unit for unit in own if unit in ("slurmd", "sackd")]
