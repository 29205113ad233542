"""The partitions and nodes of slurmctld, and their pending and running jobs."""

from dataclasses import dataclass, field

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.shown import Shown
from gpupool.slurm import jobs, nodes, partitions
from gpupool.slurm.tres import gpus_of_gres

PATIENCE = 5  # seconds; a running slurmctld answers in milliseconds, and without one Slurm's commands wait long

_LOOK = shell_file(__package__, "queue.sh")
_COLUMNS = "%i|%T|%u|%a|%q|%P|%N|%n"


@dataclass(frozen=True)
class Job(Shown):
    """A job, or the pending rest of an array; `nodes` are its nodes if `running`, else the nodes that it requests."""

    id: str
    running: bool
    user: str
    account: str
    qos: str
    partitions: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class NodeShape(Shown):
    """The resources of a node that allocations are made of: logical CPUs, cores, and GPUs by type ("" without a type).

    `cores` are those of all sockets; 0 if slurmctld shows none.
    """

    cpus: int
    cores: int = 0
    gpus: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueState(Shown):
    """`answers`: a slurmctld answered; without one, everything else is empty. `spool` is its SlurmdSpoolDir."""

    answers: bool = False
    spool: str = ""
    partitions: tuple[str, ...] = ()
    nodes: dict[str, NodeShape] = field(default_factory=dict)
    jobs: tuple[Job, ...] = ()


class Queue(Fact[QueueState]):
    """Partitions, nodes and jobs in one command, on any node that has slurm.conf, or gets it from the controller."""

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
            spool="".join(shown.get("S", [])),
            partitions=tuple(partitions.read(partition)),
            nodes={name: _shape(shown) for name, shown in nodes.read(node).items()},
            jobs=tuple(map(_job, jobs.read(job, _COLUMNS))),
        )


def _shape(node: nodes.NodeState) -> NodeShape:
    return NodeShape(node.cpus, node.cores, gpus_of_gres(node.gres))


def _job(job: jobs.Job) -> Job:
    running = job.state in jobs.ON_NODES
    nodes = job.nodes if running else job.needs
    return Job(job.id, running, job.user, job.account, job.qos, job.partitions, nodes)
