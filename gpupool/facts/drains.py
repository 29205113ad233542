"""The drain of every node in slurmctld."""

from dataclasses import dataclass

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.queue import PATIENCE
from gpupool.facts.script import ask
from gpupool.shown import Shown
from gpupool.slurm import nodes
from gpupool.slurm.nodes import HEALTH, OUT_OF_SERVICE


@dataclass(frozen=True)
class Drain(Shown):
    """Whether a node is drained, the reason, and the work of gpupool that has drained it; "" for any other."""

    drained: bool
    reason: str = ""
    work: str = ""


class NodeDrains(Fact[dict[str, Drain]]):
    """All nodes by their names in Slurm; empty if no slurmctld answers."""

    def command(self) -> StringCommand:
        """Ask the slurmctld of this node's slurm.conf."""
        return ask('timeout "$1" scontrol -o show nodes 2>/dev/null || true', str(PATIENCE))

    def read(self, lines: list[str]) -> dict[str, Drain]:
        """Read the answer."""
        return {name: _drain(state) for name, state in nodes.read("\n".join(lines)).items()}


def _drain(state: nodes.NodeState) -> Drain:
    work = next((work for work in (HEALTH, OUT_OF_SERVICE) if state.is_ours(work)), "")
    return Drain(state.drained, state.reason, work)
