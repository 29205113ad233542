"""The choice of nodes for maintenance: nodes with work to do, and nodes left alone, decided before any is drained."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gpupool.cluster.node import Node
from gpupool.errors import UsageError
from gpupool.remote.controller import Controller
from gpupool.slurm.nodes import NodeState
from gpupool.target import Target
from gpupool.upkeep.reserve import Reservation

WORK = "maintain"
RESERVATION = "gpupool_maintain"

#: The phases in which a node needs no more work.
GOOD = ("done", "nothing to do")

Phase = Literal["waiting", "draining", "rebooting", "done", "nothing to do", "left alone", "failed", "not begun"]


@dataclass
class Progress:
    """The phase of one node, and the reason for it, for admins.

    `since` is the begin of the phase in the seconds of time.monotonic; `booted` the Unix time of the boot before its
    reboot.
    """

    node: Node
    phase: Phase
    why: str = ""
    since: float = 0.0
    booted: int = 0
    changes: list[str] = field(default_factory=list)


def chosen(target: Target, selector: str) -> list[Node]:
    """Return the compute nodes of a selector, in inventory order; UsageError if it is wrong or selects none."""
    try:
        names = target.cluster.select(selector)
    except ValueError as error:
        raise UsageError(f"--nodes {error}") from None
    nodes = [node for node in target.nodes if node.name in names and node.has("compute")]
    if not nodes:
        raise UsageError(f"--nodes {selector!r} selects no compute node that gpupool manages")
    return nodes


def begun(known: Mapping[str, NodeState], reserved: Reservation | None, nodes: Sequence[Node]) -> list[str]:
    """Return the nodes that a maintenance has begun but not finished: nodes drained by it, or in its reservation."""
    inside = reserved.nodes if reserved else ()
    return [
        node.name
        for node in nodes
        if node.slurm_name in inside or ((state := known.get(node.name)) and state.is_ours(WORK))
    ]


def first_look(nodes: Sequence[Node], known: Mapping[str, NodeState], started: Collection[str]) -> dict[str, Progress]:
    """Return each node as `waiting`, or as `left alone` if others have drained it or it does not answer."""
    return {node.name: _look(node, known.get(node.name), node.name in started) for node in nodes}


def _look(node: Node, state: NodeState | None, started: bool) -> Progress:
    if state is None:
        return Progress(node, "left alone", "slurmctld does not know it: apply first")
    if state.drained and not state.is_ours(WORK):
        return Progress(node, "left alone", f"drained by others: {state.reason or 'without a reason'}")
    # a node that was rebooting when the run was interrupted may not answer yet
    if not started and (not state.answers or "DOWN" in state.flags):
        return Progress(
            node, "left alone", f"{'+'.join(sorted(state.flags))}: {state.reason or 'no answer from slurmd'}"
        )
    return Progress(node, "waiting")


def out_of_service(controller: Controller, known: Mapping[str, NodeState]) -> set[str]:
    """Return the compute nodes where no user's job can start now, by the inventory's names."""
    nodes = controller.target.cluster.having("compute")
    return {node.name for node in nodes if (state := known.get(node.name)) is not None and not state.in_service}
