"""The `Extra` of each node in slurmctld, and the state of this node."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file
from gpupool.slurm import nodes

_LOOK = shell_file(__package__, "elastic.sh")
_STATE = shell_file(__package__, "elastic_state.sh")


class Stamps(Fact[dict[str, str]]):
    """The `Extra` of each node that has one, by the node's name in Slurm; empty if no slurmctld answers."""

    def command(self) -> StringCommand:
        """Ask slurmctld."""
        return ask(_LOOK)

    def read(self, lines: list[str]) -> dict[str, str]:
        """Read the answer."""
        return {name: state.extra for name, state in nodes.read("\n".join(lines)).items() if state.extra}


class OwnState(Fact[list[str]]):
    """The flags of this node's state in Slurm; none if its slurmd does not run or no slurmctld answers."""

    def command(self, node: str) -> StringCommand:
        """Ask slurmctld for `node`, its name in Slurm."""
        return ask(_STATE, node)

    def read(self, lines: list[str]) -> list[str]:
        """Read the answer."""
        return sorted(flag for state in nodes.read("\n".join(lines)).values() for flag in state.flags)
