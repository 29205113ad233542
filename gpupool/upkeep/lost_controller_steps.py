"""The steps that bring a lost controller back, as pyinfra deploys on the controllers and the node of the database.

Each operation is called on its own line, because pyinfra identifies operations by line.
"""

from gpupool.compile.slurm.heart import heart_of
from gpupool.compile.system.backup import COMMAND
from gpupool.engine.current import cluster_and_node
from gpupool.operations import munge as munge_key
from gpupool.operations import rekey, restore
from gpupool.operations.together import barrier
from gpupool.roles import (
    accounts,
    backup,
    base,
    controller,
    database,
    directory,
    elastic,
    fileserver,
    health,
    is_controller,
    is_first_controller,
    jobs,
    munge,
    people,
    repositories,
    slurm,
    ssh,
    storage,
)


def prepare(key_from: str = "") -> None:
    """Install all that slurmctld and slurmdbd need, and start slurmdbd, as apply does; slurmctld is not started.

    The first controller gets the munge key of the node `key_from`; without one, it keeps or creates its key.
    """
    cluster, node = cluster_and_node()
    first = is_first_controller(cluster, node)
    slurm.refuse_other_release(cluster, node)
    base.apply(cluster, node)
    repositories.apply(cluster, node)
    repositories.refresh(cluster, node)
    base.install(cluster, node)
    ssh.apply(cluster, node)
    people.apply(cluster, node)
    directory.apply(cluster, node)
    fileserver.disks(cluster, node)
    storage.serve(cluster, node)
    fileserver.export(cluster, node)
    storage.use(cluster, node)
    if first and key_from:
        munge_key.key(name="Munge key of the cluster", source=key_from)
    munge.create_key(cluster, node)
    barrier(name="The munge key is there")
    munge.copy_key(cluster, node)
    jobs.apply(cluster, node)
    health.apply(cluster, node)
    elastic.apply(cluster, node)
    if first:
        slurm.apply(cluster, node)
    barrier(name="The configuration is tried")
    if not first:
        slurm.apply(cluster, node)
    database.apply(cluster, node)
    backup.apply(cluster, node)


def bring_back(stops: bool, saved_database: str, saved_queue: str, aside: bool) -> None:
    """Restore database and queue, then start slurmctld on all controllers.

    `saved_database` is the name of a backup and `saved_queue` the path of one; "" for what is not restored. `stops`:
    slurmctld is stopped first, because it would write its own state over the restored one.
    """
    cluster, node = cluster_and_node()
    first, controls = is_first_controller(cluster, node), is_controller(cluster, node)
    if controls and stops:
        rekey.stopped(name="Controller stopped")
    barrier(name="No slurmctld writes its state")
    if saved_database and node == cluster.database:
        restore.database(name="Accounting database", program=COMMAND, backup=saved_database, aside=aside)
    accounts.names(cluster, node)
    barrier(name="The database has the cluster")
    if first:
        restore.queue(name="Controller queue", node=node.name, heart=heart_of(cluster), backup=saved_queue)
        controller.apply(cluster, node)
    barrier(name="The controller runs")
    if not first:
        controller.apply(cluster, node)
