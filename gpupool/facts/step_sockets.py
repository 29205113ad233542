"""The directories in which the steps that run on a node have their sockets: slurmd's SlurmdSpoolDir at their start."""

from pyinfra.api.command import StringCommand

from gpupool.facts.base import Fact
from gpupool.facts.script import ask
from gpupool.shell import shell_file

_LOOK = shell_file(__package__, "step_sockets.sh")


class StepSockets(Fact[dict[str, list[str]]]):
    """The jobs that have a step on this node, by the directory of its socket."""

    def command(self) -> StringCommand:
        """Ask the kernel for listening sockets."""
        return ask(_LOOK)

    def read(self, lines: list[str]) -> dict[str, list[str]]:
        """Read the answer."""
        jobs: dict[str, list[str]] = {}
        for line in lines:
            directory, _, job = line.rpartition("\t")
            jobs.setdefault(directory, []).append(job)
        return jobs
