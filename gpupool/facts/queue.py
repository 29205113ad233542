"""What slurmctld has in hand: partitions, nodes, and the jobs in them, waiting or running."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ClusterShell.NodeSet import NodeSet
from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

PATIENCE = 5  # seconds; a slurmctld that is up answers in some milliseconds, and without one Slurm's commands wait long

_LOOK = shell_file(__package__, "queue.sh")
_STATES = ("RUNNING", "SUSPENDED", "STOPPED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT")


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
        return ask(_LOOK, str(PATIENCE))

    def read(self, lines: list[str]) -> QueueState:
        """Read the answer."""
        rows = [line.split("|") for line in lines]
        return QueueState(
            answers="answers" in lines,
            partitions=tuple(row[1] for row in rows if row[0] == "P"),
            nodes={row[1]: NodeShape(int(row[2] or 0), gpus_of(row[3])) for row in rows if row[0] == "N"},
            jobs=tuple(_jobs(rows)),
        )


def _jobs(rows: list[list[str]]) -> Iterator[Job]:
    for row in rows:
        if row[0] == "J":
            job, state, user, account, qos, partitions, has, needs = row[1:9]
            running = state in _STATES
            nodes = tuple(NodeSet(has if running else needs))
            yield Job(job, running, user, account, qos, tuple(partitions.split(",")), nodes)


def gpus_of(gres: str) -> dict[str, int]:
    """Return how many GPUs a node has of each type, from its gres as Slurm writes it; "" for those without a type."""
    # gpu:a40:8(S:0-1),gpu:2,shard:4
    counts: dict[str, int] = {}
    for word in gres.split(","):
        kind, _, rest = word.partition("(")[0].partition(":")
        name, _, count = rest.rpartition(":")
        if kind == "gpu" and count.isdigit():
            counts[name] = counts.get(name, 0) + int(count)
    return counts
