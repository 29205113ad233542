"""The partitions of slurmctld, its nodes, and the jobs in them, pending or running."""

from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.slurm import jobs, nodes, partitions
from gpupool.slurm.tres import gpus_of_gres

PATIENCE = 5  # seconds; a slurmctld that is up answers in some milliseconds, and without one Slurm's commands wait long

_LOOK = shell_file(__package__, "queue.sh")
_COLUMNS = "%i|%T|%u|%a|%q|%P|%N|%n"


@dataclass(frozen=True)
class Job:
    """A job, or the waiting rest of an array: `nodes` it has, or needs (`running` False) by its own words."""

    id: str
    running: bool
    user: str
    account: str
    qos: str
    partitions: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class NodeShape:
    """What a job's allocation on a node rests on: logical CPUs and GPUs by type ("" where they have none)."""

    cpus: int
    gpus: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueState:
    """`answers`: a slurmctld was there to ask; everything is empty without one."""

    answers: bool = False
    partitions: tuple[str, ...] = ()
    nodes: dict[str, NodeShape] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()


class Queue(Look[QueueState]):
    """Everything in one command, on any node that has slurm.conf."""

    def command(self) -> StringCommand:
        """Ask the slurmctld of this node's slurm.conf, if there is one."""
        return ask(_LOOK, str(PATIENCE), _COLUMNS)

    def read(self, lines: list[str]) -> QueueState:
        """Read the answer."""
        shown: dict[str, list[str]] = {"P": [], "N": [], "J": []}
        for line in lines:
            kind, _, rest = line.partition("|")
            shown.setdefault(kind, []).append(rest)
        partition, node, job = ("\n".join(shown[kind]) for kind in "PNJ")
        return QueueState(
            answers="answers" in lines,
            partitions=tuple(partitions.read(partition)),
            nodes={name: NodeShape(it.cpus, gpus_of_gres(it.gres)) for name, it in nodes.read(node).items()},
            jobs=tuple(map(_job, jobs.read(job, _COLUMNS))),
        )


def _job(job: jobs.Job) -> Job:
    running = job.state in jobs.ON_NODES
    nodes = job.nodes if running else job.needs
    return Job(job.id, running, job.user, job.account, job.qos, job.partitions, nodes)
