"""This node in Slurm: its state and reason, and the change that follows from the faults."""

from dataclasses import dataclass

from gpupool.node import commands
from gpupool.slurm import nodes
from gpupool.slurm.nodes import NodeState

#: Begins the reason of this program's drains. A drain with another reason is kept.
WORK = "health"
_LONGEST = 500  # characters of a reason
_PATIENCE = 10  # seconds


class NoAnswerError(Exception):
    """Slurm did not answer, or refused an update."""


@dataclass(frozen=True)
class Step:
    """A change of the node: `drain` with a reason, or `resume`."""

    state: str
    reason: str = ""


def next_step(known: NodeState, wrong: list[str]) -> Step | None:
    """Return the change to make; None for a node that is down, or that an admin has drained."""
    is_ours = known.is_ours(WORK)
    if "DOWN" in known.flags or (known.drained and not is_ours):
        return None
    if not wrong:
        return Step("resume") if is_ours else None
    reason = _one_line(nodes.reason_of(WORK) + "; ".join(wrong))
    return None if is_ours and known.reason == reason else Step("drain", reason)


def _one_line(text: str) -> str:
    plain = "".join(sign if sign.isprintable() and sign not in "[]" else "?" for sign in text)
    return plain if len(plain) <= _LONGEST else f"{plain[: _LONGEST - 3]}..."


def ask(name: str) -> NodeState:
    """Return slurmctld's state of the node; NoAnswerError if slurmctld does not answer."""
    return read(_scontrol("show", "node", name))


def read(text: str) -> NodeState:
    """Return the node in the output of `scontrol show node`; NoAnswerError if it has no node with a state."""
    known = next(iter(nodes.read(text).values()), None)
    if known is None or "State" not in known.fields:
        raise NoAnswerError("scontrol shows no state of this node")
    return known


def update(name: str, step: Step) -> None:
    """Drain or resume the node; NoAnswerError if slurmctld refuses or does not answer."""
    _scontrol("update", f"nodename={name}", f"state={step.state}", *([f"reason={step.reason}"] if step.reason else []))


def _scontrol(*arguments: str) -> str:
    return commands.output_of(["scontrol", *arguments], _PATIENCE, NoAnswerError)
