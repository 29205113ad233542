"""What slurmctld keeps of each node as its `Extra`, and what it takes this node for."""

from pyinfra.api.command import StringCommand

from gpupool.facts.look import Look
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_LOOK = shell_file(__package__, "elastic.sh")
_STATE = shell_file(__package__, "elastic_state.sh")


class Stamps(Look[dict[str, str]]):
    """The `Extra` of each node that has one, by the node's name in Slurm; nothing while no slurmctld answers."""

    def command(self) -> StringCommand:
        """Ask slurmctld."""
        return ask(_LOOK)

    def read(self, lines: list[str]) -> dict[str, str]:
        """Read the answer."""
        return dict(line.split(" ", 1) for line in lines)


class OwnState(Look[list[str]]):
    """The words of this node's state in Slurm; none while its slurmd does not run, or no slurmctld answers."""

    def command(self, node: str) -> StringCommand:
        """Ask slurmctld for `node`, its name in Slurm."""
        return ask(_STATE, node)

    def read(self, lines: list[str]) -> list[str]:
        """Read the answer."""
        return [word for line in lines for word in line.split("+")]
