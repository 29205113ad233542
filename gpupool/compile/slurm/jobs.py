"""The environment of jobs on nodes: variables, a private /tmp, and a /dev/shm without files of earlier jobs.

slurm.conf has only the paths of these programs, so a changed program needs no restart of slurmd.
"""

from collections.abc import Iterator
from functools import lru_cache

from gpupool.cluster.model import Cluster
from gpupool.cluster.node import Node
from gpupool.compile.of_user import shell_word
from gpupool.compile.slurm import site
from gpupool.compile.slurm.names import PROGRAMS
from gpupool.compile.template import fill
from gpupool.slurm.releases import namespace_plugin
from gpupool.wanted import Directory, File

PROLOG, EPILOG, TASK_PROLOG, UNKILLABLE = (
    f"{PROGRAMS}/{name}" for name in ("prolog", "epilog", "task_prolog", "unkillable")
)
#: Seconds from SIGKILL until slurmstepd gives up a step and drains its node: a GPU may be released minutes later.
UNKILLABLE_AFTER = 180
TMP_CONF = "job_container.conf"
LOGIND = "/etc/systemd/logind.conf.d/gpupool-jobs.conf"
#: The prolog records each job of a node here, below the uid of its user.
JOBS = "/run/gpupool/jobs"
#: Directories that the epilog empties, and the time limit in seconds of this removal, which continues after the epilog.
CLEANED, PATIENCE = ("/dev/shm", "/tmp"), 3600


def files(cluster: Cluster, node: Node) -> Iterator[File]:
    """Yield the programs that slurm.conf may name, and a drop-in that keeps logind from cleaning up before the epilog.

    All compute nodes have them, needed or not: if slurm.conf still named a removed program, jobs would end and nodes
    drain.
    """
    return iter(_files(cluster, cleans(cluster, node)) if node.has("compute") else ())


@lru_cache(maxsize=8)
def _files(cluster: Cluster, clean: bool) -> tuple[File, ...]:
    """Return the files of the compute nodes on which the epilog removes files (`clean`), or of all others."""
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
    """Return the keys of slurm.conf, which are the same for all nodes."""
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
    """Return whether slurm.conf, the same for all nodes, must name our prolog and epilog."""
    return cluster.environment.job_directory is not None or any(timer.job == "shm-clean" for timer in cluster.timers)


def directories(cluster: Cluster, node: Node) -> list[Directory]:
    """Return the directory that contains the job directories of a node; only root can list it."""
    own = cluster.environment.job_directory
    return [Directory(own.path, mode="0711")] if own and node.has("compute") else []


def variables(cluster: Cluster) -> dict[str, str]:
    """Return the variables of jobs, name to text with placeholders: those of user spaces, then the inventory's."""
    spaces = {space.env: space.path for space in cluster.storage.user_spaces if space.env}
    return {**spaces, **cluster.environment.job}


def cleans(cluster: Cluster, node: Node) -> bool:
    """Return whether a user's files are removed when the user's last job on the node ends."""
    return any(timer.job == "shm-clean" and node.name in cluster.select(timer.where) for timer in cluster.timers)


def task_prolog(cluster: Cluster) -> str:
    """Return the program from whose output slurmd reads a task's variables."""
    values = {name: shell_word(text) for name, text in variables(cluster).items()}
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
