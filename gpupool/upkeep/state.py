"""The nodes of slurmctld and the jobs on them, by the names of the inventory."""

from collections.abc import Mapping, Sequence

from gpupool.cluster.node import Node
from gpupool.remote.controller import Controller, RefusedError
from gpupool.slurm.hostlists import fold_set
from gpupool.slurm.jobs import ON_NODES, Job
from gpupool.slurm.jobs import read as read_jobs
from gpupool.slurm.nodes import NodeState, read

_COLUMNS = "%i|%u|%a|%N|%e"


def states(controller: Controller, nodes: Sequence[Node]) -> dict[str, NodeState]:
    """Return slurmctld's state of these nodes, by the inventory's names, without nodes that slurmctld does not know."""
    if not nodes:
        return {}
    names = fold_set(node.slurm_name for node in nodes)
    try:
        shown = controller.ask("scontrol", "show", "node", names)
    except RefusedError:
        # scontrol fails for all nodes if one name is unknown
        shown = controller.ask("scontrol", "show", "node")
    known = read(shown)
    return {node.name: known[node.slurm_name] for node in nodes if node.slurm_name in known}


def jobs(controller: Controller, nodes: Sequence[Node]) -> tuple[Job, ...]:
    """Return the jobs on any of these nodes, including jobs whose last processes are still ending."""
    if not nodes:
        return ()
    states = ",".join(state.lower() for state in ON_NODES)
    names = fold_set(node.slurm_name for node in nodes)
    answer = controller.ask("squeue", "-a", "-h", "-r", "-w", names, "-t", states, "-o", _COLUMNS)
    return tuple(read_jobs(answer, _COLUMNS))


def starts(controller: Controller, nodes: Sequence[Node]) -> Mapping[str, int]:
    """Return the start of each job on any of these nodes, by the job's id, in seconds since 1970."""
    return _moments(controller, nodes, "%S")


def ends(controller: Controller, nodes: Sequence[Node]) -> Mapping[str, int]:
    """Return the end of each job on any of these nodes by its time limit, by the job's id, in seconds since 1970.

    Jobs without a time limit are not in it.
    """
    return _moments(controller, nodes, "%e")


def _moments(controller: Controller, nodes: Sequence[Node], column: str) -> Mapping[str, int]:
    if not nodes:
        return {}
    names = fold_set(node.slurm_name for node in nodes)
    states = ",".join(state.lower() for state in ON_NODES)
    answer = controller.ask(
        "env", "SLURM_TIME_FORMAT=%s", "squeue", "-a", "-h", "-r", "-w", names, "-t", states, "-o", f"%i|{column}"
    )
    rows = [line.split("|") for line in answer.splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdecimal()}


def by_node(known: Sequence[Job], nodes: Sequence[Node]) -> Mapping[str, tuple[Job, ...]]:
    """Return the jobs of each node, by the inventory's names."""
    return {node.name: tuple(job for job in known if node.slurm_name in job.nodes) for node in nodes}
