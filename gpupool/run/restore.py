"""Restore the accounting database of the cluster from a backup."""

from gpupool.compile.system.backup import COMMAND
from gpupool.engine.report import Report
from gpupool.run.runner import DeployRunner


def restore(runner: DeployRunner, backup: str, *, aside: bool) -> Report:
    """Restore the database from a backup ("" for the newest), and restart the controllers to read it.

    With `aside`, a database that has jobs is kept under another name; without it, such a database is not replaced.
    """
    runner.load()
    from gpupool.engine.current import cluster_and_node
    from gpupool.operations import restore
    from gpupool.operations.together import barrier

    def steps() -> None:
        cluster, node = cluster_and_node()
        if node.has("database"):
            restore.database(name="Accounting database", program=COMMAND, backup=backup, aside=aside)
        barrier(name="The database is restored")
        if node.has("controller", "backup-controller"):
            restore.read_again(name="Slurm controller", after=cluster.database.name)

    cluster = runner.target.cluster
    return runner.deploy(steps, {cluster.database.name, *(node.name for node in cluster.controllers)}, execute=True)
