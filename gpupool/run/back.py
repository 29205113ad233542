"""The way back of `gpupool adopt --back`: the nodes of a cluster as they were before gpupool first changed them."""

from gpupool.engine.report import Report
from gpupool.run.runner import DeployRunner


def back(runner: DeployRunner, *, execute: bool) -> Report:
    """Restore the site's files, units and names on all managed nodes; without `execute`, return what would change.

    slurmctld reads the restored files before the programs that gpupool's files named are removed, and only then nodes
    forget what gpupool kept. So a run that was killed is finished by the next one.
    """
    runner.load()
    from gpupool.compile import files_of
    from gpupool.compile.slurm.accounting import entities
    from gpupool.engine.current import cluster_and_node
    from gpupool.operations import former, former_accounting
    from gpupool.operations.together import barrier
    from gpupool.roles import controller

    def steps() -> None:
        cluster, node = cluster_and_node()
        slurms = [file.path for file in files_of(cluster, node, "slurm")]
        former.restored(name="Files of the site", read_first=slurms)
        barrier(name="The files are as before")
        if node.has("controller", "backup-controller"):
            controller.load(cluster, node, [], ours=False)
        barrier(name="slurmctld has read them")
        former.removed(name="Files of gpupool")
        former.folders(name="Directories")
        former.host_name(name="Host name")
        former.reread(name="Munge daemon", unit="munge")
        former.reread(name="Database daemon", unit="slurmdbd")
        barrier(name="The accounting runs")
        if node.has("database"):
            former_accounting.as_before(name="Accounting", wanted=entities(cluster))
        former.reread(name="Controller", unit="slurmctld")
        former.reread(name="Compute daemon", unit="slurmd")
        former.reread(name="Login daemon", unit="sackd")
        former.units(name="Units")
        barrier(name="Nodes are as before")
        former.forgotten(name="Kept files")

    return runner.deploy(steps, execute=execute)
