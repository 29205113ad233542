"""A powered-down node is started for a job, and is powered down again when it is idle."""

from gpupool.cluster.model import Cluster
from gpupool.compile.slurm.elastic import sleepers
from show.shell import Shell, stopwatch, title, until


def fits(cluster: Cluster) -> bool:
    """Return whether nodes are powered down when idle."""
    return bool(sleepers(cluster))


def show(cluster: Cluster, shell: Shell) -> None:
    """Let a job start a node, and wait until it is off again."""
    title("A node that is off is started when a job wants it")
    tell = stopwatch()
    asleep = "sinfo -h -N -t POWERED_DOWN -o %N | sort -u"
    until(lambda: shell.run(asleep) != "", "idle nodes are off")
    shell.type("sinfo")
    tell(f"off: {', '.join(shell.run(asleep).split())}")
    job = shell.run(f"sbatch --parsable -o /dev/null {shell.gpu_job()} --wrap 'sleep 5'").strip()
    until(lambda: "CF" in shell.run(f"squeue -h -j {job} -o %t"), "a node is started")
    shell.type("squeue")
    node = shell.run(f"squeue -h -j {job} -o %N").strip()
    tell(f"{node} is started")
    until(lambda: "CF" not in shell.run(f"squeue -h -j {job} -o %t || true"), "the node has joined")
    tell(f"{node} has joined, and the job runs")
    until(lambda: node in shell.run(asleep).split(), "the node is off again")
    tell(f"{node} is off again")
