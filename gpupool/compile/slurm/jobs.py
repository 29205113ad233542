"""What jobs find on their nodes: variables, a /tmp of their own, and nothing that others have left in /dev/shm.

slurmd runs these programs by their paths, which slurm.conf has: what they do may change without slurmd noticing.
"""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster, Node
from gpupool.compile.of_user import in_shell
from gpupool.compile.slurm import site
from gpupool.compile.slurm.names import PROGRAMS
from gpupool.compile.template import fill
from gpupool.slurm.releases import namespace_plugin
from gpupool.wanted import Directory, File

PROLOG, EPILOG, TASK_PROLOG, UNKILLABLE = (
    f"{PROGRAMS}/{name}" for name in ("prolog", "epilog", "task_prolog", "unkillable")
)
#: Seconds from SIGKILL until slurmstepd gives a step up and drains its node: to leave a GPU may take minutes.
UNKILLABLE_AFTER = 180
TMP_CONF = "/etc/slurm/job_container.conf"
LOGIND = "/etc/systemd/logind.conf.d/gpupool-jobs.conf"
#: Where the prolog notes each job of a node, below its user's number.
JOBS = "/run/gpupool/jobs"
#: What the epilog empties, and how many seconds it may take: the node is completing for so long.
CLEANED, PATIENCE = ("/dev/shm", "/tmp"), 60


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Return the programs that slurm.conf may name, and what keeps logind from doing the epilog's work too early.

    All compute nodes have them, needed or not: where slurm.conf still names one that is gone, jobs end and nodes drain.
    """
    return iter(_files(cluster, cleans(cluster, node)) if node.has("compute") else ())


@lru_cache(maxsize=8)
def _files(cluster: Cluster, clean: bool) -> tuple[File, ...]:
    """Return the files of all compute nodes where the epilog cleans, or of all where it does not."""
    values = {"cluster": cluster, "clean": clean, "jobs": JOBS, "own": cluster.environment.job_directory}
    ours = {"prolog": fill("prolog", **values), "epilog": fill("epilog", **values, tops=CLEANED, patience=PATIENCE)}
    return (
        File(PROLOG, ours["prolog"], mode="0755"),
        File(EPILOG, ours["epilog"], mode="0755"),
        *site.around_jobs(cluster, ours if _cleaned(cluster) else {}),
        File(TASK_PROLOG, task_prolog(cluster), mode="0755"),
        File(UNKILLABLE, fill("unkillable", cluster=cluster, timeout=UNKILLABLE_AFTER), mode="0755"),
        *([File(LOGIND, fill("logind-jobs.conf", cluster=cluster))] if clean else []),
    )


def parameters(cluster: Cluster) -> dict[str, str]:
    """Return the keys of slurm.conf, which is the same for all nodes."""
    keys = {"UnkillableStepTimeout": str(UNKILLABLE_AFTER), "UnkillableStepProgram": UNKILLABLE}
    for key, kind, ours in (("Prolog", "prolog", PROLOG), ("Epilog", "epilog", EPILOG)):
        if program := site.runs(cluster, kind, ours if _cleaned(cluster) else None):
            keys[key] = program
    if variables(cluster) or cluster.environment.job_directory or (cluster.gpu.device_env and cluster.gpu_types):
        keys["TaskProlog"] = TASK_PROLOG
    if cluster.environment.private_tmp:
        key, plugin = namespace_plugin(cluster.slurm.version)
        keys[key] = plugin
    return keys


def _cleaned(cluster: Cluster) -> bool:
    """Return whether slurm.conf, the same for all nodes, has to name our prolog and epilog."""
    return cluster.environment.job_directory is not None or any(timer.job == "shm-clean" for timer in cluster.timers)


def directories(cluster: Cluster, node: Node) -> list[Directory]:
    """Return where a node makes the directories of jobs: root's alone, and nobody else lists them."""
    own = cluster.environment.job_directory
    return [Directory(own.path, mode="0711")] if own and node.has("compute") else []


def variables(cluster: Cluster) -> dict[str, str]:
    """Return the variables of jobs, name to text with placeholders: those of user spaces, then the inventory's own."""
    spaces = {space.env: space.path for space in cluster.storage.user_spaces if space.env}
    return {**spaces, **cluster.environment.job}


def cleans(cluster: Cluster, node: Node) -> bool:
    """Return whether a user's files go when the last job on the node ends."""
    return any(timer.job == "shm-clean" and node.name in cluster.select(timer.where) for timer in cluster.timers)


def task_prolog(cluster: Cluster) -> str:
    """Return the program whose output slurmd takes as a task's variables."""
    values = {name: in_shell(text) for name, text in variables(cluster).items()}
    return fill(
        "task_prolog",
        cluster=cluster,
        numbers=cluster.drivers.gpu == "fake",
        gpus=cluster.gpu.device_env if cluster.gpu_types else (),
        values=values,
        asks=any("gpupool_" in value for value in values.values()),
        own=cluster.environment.job_directory,
    )


def tmp_conf(cluster: Cluster) -> str:
    """Return job_container.conf."""
    return fill("job_container.conf", cluster=cluster, path=cluster.environment.private_tmp)
