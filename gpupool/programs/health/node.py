"""This node in Slurm: its state and reason, and the change that a look at the node leads to."""

from dataclasses import dataclass

from gpupool.node import commands
from gpupool.slurm import nodes
from gpupool.slurm.nodes import NodeState

#: The work that begins the reason of this program's drains. A drain with another reason stays.
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
    """Return the change to make. A node that is down, or drained by others, is left as it is."""
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
    """Return what slurmctld knows of the node. NoAnswerError when it does not answer."""
    return read(_scontrol("show", "node", name))


def read(text: str) -> NodeState:
    """Return the node that `scontrol show node` prints. NoAnswerError where there is none, or one without a state."""
    known = next(iter(nodes.read(text).values()), None)
    if known is None or "State" not in known.fields:
        raise NoAnswerError("scontrol shows no state of this node")
    return known


def update(name: str, step: Step) -> None:
    """Have slurmctld do it. NoAnswerError when it does not."""
    _scontrol("update", f"nodename={name}", f"state={step.state}", *([f"reason={step.reason}"] if step.reason else []))


def _scontrol(*arguments: str) -> str:
    return commands.output_of(["scontrol", *arguments], _PATIENCE, NoAnswerError)
